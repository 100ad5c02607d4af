import "./styles/base.css";
import "./styles/timeline.css";
import "./styles/tables.css";
import "./styles/views.css";

import { createRoot } from "react-dom/client";

import { api } from "./api/client";
import { type Preferred, readAddress, writeAddress } from "./app/address";
import { App } from "./app/App";
import { Store, startState } from "./app/state";

const preferred: Preferred = {
  theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
  language: navigator.language.startsWith("zh") ? "zh" : "en",
};
const place = readAddress(location.hash, preferred);
api.setOffsets(place.offsets);
const store = new Store(startState(place));

// The address follows the state, a moment behind; going back in the history leads the state.
let timer = 0;
let written = location.hash;
store.subscribe(() => {
  clearTimeout(timer);
  timer = window.setTimeout(() => {
    const hash = writeAddress(store.get(), preferred);
    if (`#${hash}` === written || (hash === "" && written === "")) return;
    written = hash === "" ? "" : `#${hash}`;
    // The token that brought us here is in a cookie now: it does not belong into shared links.
    history.replaceState(null, "", location.pathname + written);
  }, 200);
});
window.addEventListener("hashchange", () => {
  written = location.hash;
  const next = readAddress(location.hash, preferred);
  api.setOffsets(next.offsets);
  store.set({ ...next, slice: null, hits: null, hit: -1 });
  window.dispatchEvent(new Event("sonde-address"));
});

createRoot(document.getElementById("root")!).render(<App store={store} />);
