/** The address follows what is seen, a moment behind; Back and Forward walk through views and selections. */
import { api } from "../api/client";
import { type Preferred, readAddress, writeAddress } from "./address";
import type { Place, Store } from "./state";

/** What is typed or moved all the time, and is no step to go back to: texts, filters, where one scrolled. */
const isFleeting = (name: string) => /^(f\.|c\.|s\.|top(\.|$)|sql$|ran$|drawer)/.test(name);

const steps = ({ view, selection, area, panel, detail }: Place) =>
  JSON.stringify([
    view,
    selection,
    area,
    panel,
    Object.entries(detail)
      .filter(([name]) => !isFleeting(name))
      .sort(),
  ]);

/** Whether a change of place is one that Back undoes. */
export const isStep = (before: Place, after: Place) => steps(before) !== steps(after);

const DELAY_MS = 200;

/** Until the returned function is called. `follow`: another place was gone to, what it names is to be fetched. */
export function keepHistory(store: Store, preferred: Preferred, follow: () => void): () => void {
  // The token that brought us here is in a cookie now: it does not belong into shared links.
  if (location.search !== "") history.replaceState(null, "", location.pathname + location.hash);
  let timer = 0;
  let isStepDue = false; // is not put off by what comes behind it: a page may be filled for seconds
  let written = location.hash;
  let kept: Place = store.get();
  const write = () => {
    isStepDue = false;
    const hash = writeAddress(store.get(), preferred);
    const next = hash === "" ? "" : `#${hash}`;
    const step = isStep(kept, store.get());
    kept = store.get();
    if (next === written) return;
    written = next;
    const address = location.pathname + next;
    if (step) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  };
  const forget = store.subscribe(() => {
    if (isStepDue) return;
    isStepDue = isStep(kept, store.get());
    clearTimeout(timer);
    timer = window.setTimeout(write, DELAY_MS);
  });
  const onGone = () => {
    clearTimeout(timer);
    isStepDue = false;
    if (location.hash === written) return;
    written = location.hash;
    const place = readAddress(written, preferred);
    api.setOffsets(place.offsets);
    const { selection, slice, search } = store.get();
    const isSame = slice && place.selection?.trace === selection?.trace && place.selection?.id === selection?.id;
    const isSought = JSON.stringify(place.search) === JSON.stringify(search);
    store.set({ ...place, ...(isSame ? {} : { slice: null }), ...(isSought ? {} : { hits: null, hit: -1 }) });
    kept = store.get();
    clearTimeout(timer);
    isStepDue = false;
    follow();
  };
  window.addEventListener("hashchange", onGone);
  return () => {
    clearTimeout(timer);
    forget();
    window.removeEventListener("hashchange", onGone);
  };
}
