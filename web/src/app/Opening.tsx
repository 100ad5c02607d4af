import { useEffect, useState } from "react";

import { api } from "../api/client";
import { formatBytes, formatShare } from "../base/format";
import { word } from "../i18n/words";
import { useApp, useAppState } from "./context";
import { Empty } from "./Empty";
import { Issues } from "./Issues";
import { OpenPath } from "./OpenPath";
import { isFull } from "./traces";

/** What is seen before there is anything to draw, or where there never is. */
export function Opening() {
  const { t } = useApp();
  const session = useAppState((s) => s.session);
  if (!session) return <div className="opening">…</div>;
  const isMapped = session.maps.length > 0 && session.traces.length === 0;
  if (isMapped) return <Empty title={t("maps.nothing")} help={t("maps.nothing.help")} />;
  const nothing = !session.loading && !session.traces.some(isFull);
  const done = session.traces.filter((x) => x.state === "ready" || x.state === "failed").length;
  return (
    <div className="opening" data-testid="opening">
      <div>
        <h2>
          {!nothing
            ? t("app.loading", done, session.traces.length)
            : session.traces.length + session.notes.length === 0
              ? t("app.welcome")
              : t("app.nothing")}
        </h2>
        {session.notes.map((note) => (
          <p key={note} className="error">
            {note}
          </p>
        ))}
        <TraceList />
        {nothing && (
          <>
            <Issues />
            <OpenPath />
            <p>{t("app.nothing.help")}</p>
            <pre>sonde view ./profile</pre>
            <p className="muted">{t("app.nothing.formats")}</p>
          </>
        )}
      </div>
    </div>
  );
}

/** Shares of the imports that run, by trace id. */
export function useProgress(): Map<number, number> {
  const loading = useAppState((s) => s.session?.loading ?? false);
  const [shares, setShares] = useState(new Map<number, number>());
  useEffect(() => {
    if (!loading) return;
    let current = true;
    const ask = () =>
      api.progress().then(
        (list) => current && setShares(new Map(list.map((p) => [p.trace, p.share]))),
        () => undefined, // the page itself reports that the server is gone
      );
    void ask();
    const timer = setInterval(() => void ask(), 400);
    return () => {
      current = false;
      clearInterval(timer);
    };
  }, [loading]);
  return shares;
}

export function TraceList() {
  const { t } = useApp();
  const language = useAppState((s) => s.language);
  const session = useAppState((s) => s.session);
  const shares = useProgress();
  return (
    <ul className="traces" data-testid="trace-list">
      {session?.traces.map((trace) => {
        const share = shares.get(trace.id) ?? 0;
        return (
          <li key={trace.id} className={trace.state}>
            <span className="state">
              {t(trace.state === "ready" && trace.empty ? "app.empty" : (`app.${trace.state}` as "app.ready"))}
              {trace.state === "reading" && (
                <>
                  <progress {...(share > 0 ? { value: share } : {})} /> {share > 0 ? formatShare(share, 0) : ""}
                </>
              )}
            </span>
            <span className="path" title={trace.path}>
              {trace.rank >= 0 ? `${t("lane.rank", trace.rank)} · ` : ""}
              {trace.path}
            </span>
            <small>
              {trace.message || word(language, trace.format)}
              {trace.size_bytes > 0 ? ` · ${formatBytes(trace.size_bytes)}` : ""}
            </small>
          </li>
        );
      })}
    </ul>
  );
}
