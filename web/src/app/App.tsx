import { useEffect, useMemo } from "react";

import { api } from "../api/client";
import type { SessionMessage } from "../api/messages";
import { translator } from "../i18n";
import { themeVariables, themes } from "../theme/themes";
import { views } from "../views/list";
import { isTyping, keyName } from "../views/timeline/keys";
import { Actions } from "./actions";
import type { Preferred } from "./address";
import { AppContext } from "./context";
import { Dialogs } from "./Dialogs";
import { keepHistory } from "./history";
import { Opening } from "./Opening";
import { type State, type Store, useStore } from "./state";
import { isFull } from "./traces";
import { SubViews, TopBar } from "./TopBar";
import { shownView } from "./view";

/** What was chosen of a trace whose slices were exchanged: numbers of a preview mean nothing now. */
export function withoutReplaced(state: State, session: SessionMessage): Partial<State> {
  const replaced = new Set(
    session.traces
      .filter((trace) => {
        const before = state.session?.traces[trace.id];
        return before && before.version > 0 && before.version !== trace.version;
      })
      .map((trace) => String(trace.id)),
  );
  if (replaced.size === 0) return {};
  const keep = (keys: string[]) => keys.filter((key) => !replaced.has(/^\+?(\d+):/.exec(key)?.[1] ?? ""));
  const gone = state.selection !== null && replaced.has(String(state.selection.trace));
  return {
    pinned: keep(state.pinned),
    hidden: keep(state.hidden),
    order: keep(state.order),
    folded: keep(state.folded),
    area: state.area?.lanes.some((lane) => replaced.has(String(lane.trace))) ? null : state.area,
    ...(gone ? { selection: null, slice: null } : {}),
  };
}

/** Follows the session: an event reports each change. */
function useSession(store: Store, actions: Actions) {
  useEffect(() => {
    let isBusy = false;
    let isDue = false;
    // One question at a time: changes that come faster than answers would else put off each of them.
    const load = () => {
      isDue = isBusy;
      if (isBusy) return;
      isBusy = true;
      void ask().finally(() => {
        isBusy = false;
        if (isDue) load();
      });
    };
    const ask = () =>
      api.session().then(
        (session) => {
          const wasLoading = store.get().session?.loading ?? false;
          const wasMapped = (store.get().session?.maps.length ?? 0) > 0;
          store.set({ ...withoutReplaced(store.get(), session), session, gone: false });
          // Ranks of which none is open: their map comes first.
          const hasMap = !wasMapped && session.maps.length > 0 && session.traces.length === 0;
          if (hasMap && store.get().view === "timeline") store.set({ view: "ranks" });
          // Nothing but programs that wait to be recorded: their view comes first.
          const isFirst = location.hash === "" && session.live && session.traces.length === 0;
          if (isFirst && store.get().view === "timeline") store.set({ view: "live" });
          const { selection, slice } = store.get();
          const trace = selection ? session.traces[selection.trace] : undefined;
          if (selection && !slice && trace?.state === "ready") void actions.load(selection.trace, selection.id);
          // What was searched meanwhile was searched in a part.
          const isSearched = !wasLoading && store.get().hits !== null;
          if (!session.loading && store.get().search.text !== "" && !isSearched) void actions.search(false);
        },
        () => store.set({ gone: true }),
      );
    const events = new EventSource("/api/events");
    events.onmessage = load;
    events.onerror = () => store.set({ gone: true });
    return () => events.close();
  }, [store, actions]);
}

/** Another address was typed, or gone back to: what it names is fetched. */
function useHistory(store: Store, actions: Actions, preferred: Preferred) {
  useEffect(
    () =>
      keepHistory(store, preferred, () => {
        const { selection, slice, search, hits, offsets } = store.get();
        void actions.setOffsets(offsets).then(() => {
          if (selection && !slice) void actions.load(selection.trace, selection.id);
        });
        if (search.text !== "" && !hits) void actions.search(false);
      }),
    [store, actions, preferred],
  );
}

function useGlobalKeys(store: Store) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const key = keyName(event);
      const tabs = views.filter(({ under }) => under === undefined);
      const view = /^[1-9]$/.test(key) ? tabs[Number(key) - 1] : undefined;
      if (key === "Escape") {
        const { dialog, area, error } = store.get();
        if (dialog !== "") store.set({ dialog: "" });
        else if (error !== "") store.set({ error: "" });
        else if (area) store.set({ area: null });
        else store.set({ selection: null, slice: null });
        (document.activeElement as HTMLElement | null)?.blur();
      } else if (key === "Ctrl+k" || key === "Ctrl+p" || key === "Ctrl+Shift+P") store.set({ dialog: "palette" });
      else if (isTyping(event.target)) return;
      else if (key === "?") store.set({ dialog: "help" });
      else if (key === ":") store.set({ view: "sql" });
      else if (key === "o" || key === "Ctrl+o") store.set({ dialog: "open" });
      else if (key === "/" || key === "Ctrl+f") document.getElementById("search")?.focus();
      else if (key === ">") store.set({ dialog: "palette" });
      else if (view) store.set({ view: view.name });
      else return;
      event.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [store]);
}

export function App({ store, preferred }: { store: Store; preferred: Preferred }) {
  const actions = useMemo(() => new Actions(store), [store]);
  const themeName = useStore(store, (s) => s.theme);
  const language = useStore(store, (s) => s.language);
  const view = useStore(store, (s) => s.view);
  const ready = useStore(store, (s) => s.session?.traces.some(isFull) ?? false);
  const isMapped = useStore(store, (s) => (s.session?.maps.length ?? 0) > 0);
  const gone = useStore(store, (s) => s.gone);
  const error = useStore(store, (s) => s.error);
  const theme = themes[themeName];
  const t = useMemo(() => translator(language), [language]);
  const app = useMemo(() => ({ store, actions, t, theme }), [store, actions, t, theme]);
  useSession(store, actions);
  useHistory(store, actions, preferred);
  useGlobalKeys(store);

  useEffect(() => {
    const root = document.documentElement;
    for (const [name, value] of Object.entries(themeVariables(theme))) root.style.setProperty(name, value);
    root.style.colorScheme = themeName;
    root.lang = language;
  }, [theme, themeName, language]);

  const session = useStore(store, (s) => s.session);
  const current = shownView(views, view, session);
  const Shown = current.component;
  return (
    <AppContext.Provider value={app}>
      <TopBar />
      <SubViews />
      <main>{ready || current.standsAlone || (isMapped && current.showsMaps) ? <Shown /> : <Opening />}</main>
      {gone && <div className="notice">{t("app.gone")}</div>}
      {error !== "" && (
        <div className="notice error" role="alert">
          {error}
          <button aria-label={t("app.close")} onClick={() => store.set({ error: "" })}>
            ✕
          </button>
        </div>
      )}
      <Dialogs />
    </AppContext.Provider>
  );
}
