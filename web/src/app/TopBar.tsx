import { formatCount } from "../base/format";
import { views } from "../views/list";
import { useApp, useAppState } from "./context";
import { useProgress } from "./Opening";
import type { SearchOptions } from "./state";
import type { TextKey } from "../i18n";
import { family, hasTab, shownView } from "./view";

const FLAGS: readonly [keyof SearchOptions, string, TextKey][] = [
  ["regex", ".*", "search.regex"],
  ["case", "Aa", "search.case"],
  ["whole", "“ ”", "search.whole"],
  ["args", "{ }", "search.args"],
];

function Search() {
  const { store, actions, t } = useApp();
  const search = useAppState((s) => s.search);
  const hits = useAppState((s) => s.hits);
  const hit = useAppState((s) => s.hit);
  const change = (part: Partial<SearchOptions>) =>
    store.set({ search: { ...store.get().search, ...part }, hits: null, hit: -1 });
  return (
    <form
      className="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        if (hits) actions.stepHit(1);
        else void actions.search();
      }}
    >
      <input
        id="search"
        value={search.text}
        placeholder={`${t("search.hint")}  /`}
        aria-label={t("search.hint")}
        onChange={(event) => change({ text: event.target.value })}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !event.shiftKey) return;
          event.preventDefault();
          actions.stepHit(-1);
        }}
      />
      {FLAGS.map(([flag, label, title]) => (
        <button
          key={flag}
          type="button"
          title={t(title)}
          aria-label={t(title)}
          aria-pressed={search[flag] as boolean}
          onClick={() => change({ [flag]: !search[flag] })}
        >
          {label}
        </button>
      ))}
      {hits && (
        <>
          <span className="count" data-testid="hit-count">
            {hits.total === 0
              ? t("search.none")
              : t("search.count", hit < 0 ? "–" : formatCount(hit + 1), formatCount(hits.total))}
          </span>
          <button type="button" aria-label="‹" onClick={() => actions.stepHit(-1)}>
            ‹
          </button>
          <button type="button" aria-label="›" onClick={() => actions.stepHit(1)}>
            ›
          </button>
        </>
      )}
    </form>
  );
}

export function TopBar() {
  const { store, t } = useApp();
  const view = useAppState((s) => shownView(views, s.view, s.session).name);
  const theme = useAppState((s) => s.theme);
  const language = useAppState((s) => s.language);
  const session = useAppState((s) => s.session);
  const shares = useProgress();
  const head = views.find(({ name }) => name === view)?.under ?? view;
  const issues = session?.traces.reduce((sum, trace) => sum + trace.issues, 0) ?? 0;
  const count = session?.traces.length ?? 0;
  const done = session?.traces.filter((trace) => trace.state === "ready" || trace.state === "failed").length ?? 0;
  const failed = session?.traces.some((trace) => trace.state === "failed") || (session?.notes.length ?? 0) > 0;
  return (
    <header>
      <h1 className="brand">Sonde</h1>
      <nav aria-label={t("key.views")}>
        {views
          .filter((v) => v.under === undefined)
          .filter((v) => v.name === head || hasTab(v, session))
          .map((v) => (
            <button
              key={v.name}
              aria-current={v.name === head ? "page" : undefined}
              onClick={() => store.set({ view: v.name })}
            >
              {t(v.title)}
            </button>
          ))}
      </nav>
      <Search />
      <span className="grow" />
      {session?.loading && (
        <span className="loading">
          <progress
            max={Math.max(1, session.traces.length)}
            value={done + [...shares.values()].reduce((sum, share) => sum + share, 0)}
          />{" "}
          {t("app.loading", done, session.traces.length)}
        </span>
      )}
      <button onClick={() => store.set({ dialog: "open" })} title={`${t("open.title")} (O)`}>
        {t("open.do")}
      </button>
      <button
        className={failed ? "warn" : ""}
        onClick={() => store.set({ dialog: "traces" })}
        data-testid="traces-button"
      >
        {t("app.traces")}
        {count > 0 && <i className="badge">{count}</i>}
        {issues > 0 && (
          <i className="badge warn" title={t("app.issues", issues)}>
            ⚠ {issues}
          </i>
        )}
      </button>
      <button
        title={t("app.theme")}
        aria-label={t("app.theme")}
        onClick={() => store.set({ theme: theme === "light" ? "dark" : "light" })}
      >
        {theme === "light" ? "☾" : "☀"}
      </button>
      <button onClick={() => store.set({ language: language === "en" ? "zh" : "en" })}>{t("app.language")}</button>
      <button title={t("app.help")} aria-label={t("app.help")} onClick={() => store.set({ dialog: "help" })}>
        ?
      </button>
    </header>
  );
}

/** The second line of tabs, of views that belong together. */
export function SubViews() {
  const { store, t } = useApp();
  const view = useAppState((s) => shownView(views, s.view, s.session).name);
  const current = views.find(({ name }) => name === view);
  const related = current ? family(views, current) : [];
  if (related.length < 2) return null;
  return (
    <nav className="subviews" aria-label={t("key.subviews")}>
      {related.map((v) => (
        <button key={v.name} aria-current={v.name === view} onClick={() => store.set({ view: v.name })}>
          {t(v.subtitle ?? v.title)}
        </button>
      ))}
    </nav>
  );
}
