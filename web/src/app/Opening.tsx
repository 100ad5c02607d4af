import type { TraceMessage } from "../api/messages";
import { useApp, useAppState } from "./context";

/** Whether there is anything to draw: a damaged file may be read without giving a single record. */
export function hasContent(trace: TraceMessage): boolean {
  return trace.state === "ready" && trace.tracks.some((track) => track.slices > 0);
}

/** What is seen before the first trace is ready, or where none ever is. */
export function Opening() {
  const { t } = useApp();
  const session = useAppState((s) => s.session);
  if (!session) return <div className="opening">…</div>;
  const nothing = !session.loading && !session.traces.some(hasContent);
  return (
    <div className="opening" data-testid="opening">
      <div>
        <h1>
          {nothing
            ? t("app.nothing")
            : t("app.loading", session.traces.filter((x) => x.state === "ready").length, session.traces.length)}
        </h1>
        {session.notes.map((note) => (
          <p key={note} className="error">
            {note}
          </p>
        ))}
        <TraceList />
        {nothing && (
          <>
            <p>{t("app.nothing.help")}</p>
            <pre>sonde view ./profile</pre>
            <p className="muted">{t("app.nothing.formats")}</p>
          </>
        )}
      </div>
    </div>
  );
}

export function TraceList() {
  const { t } = useApp();
  const session = useAppState((s) => s.session);
  return (
    <ul className="traces">
      {session?.traces.map((trace) => (
        <li key={trace.id} className={trace.state}>
          <span className="state">
            {t(`app.${trace.state}` as "app.ready")}
            {trace.state === "reading" && <progress />}
          </span>
          <span className="path" title={trace.path}>
            {trace.rank >= 0 ? `${t("lane.rank", trace.rank)} · ` : ""}
            {trace.path}
          </span>
          <small>{trace.message || trace.format}</small>
        </li>
      ))}
    </ul>
  );
}
