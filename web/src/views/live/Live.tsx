import { useEffect, useState } from "react";

import { api } from "../../api/client";
import type { LiveMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { Empty } from "../../app/Empty";
import { TraceList } from "../../app/Opening";
import type { View } from "../../app/view";
import { formatBytes, formatCount } from "../../base/format";
import { LEVELS, type Level, SWITCHES, type Switch, optionsOf } from "./options";
import { resultOf } from "./result";

const LOOK_MS = 700;

/** Programs under `sonde run --control`: what they do now, and buttons that start and stop. */
function Live() {
  const { store, actions, t } = useApp();
  const session = useAppState((s) => s.session);
  const [programs, setPrograms] = useState<LiveMessage[]>([]);
  const [busy, setBusy] = useState(false);
  const level = (useAppState((s) => s.detail["level"]) ?? "Level1") as Level;
  const chosen = new Set((useAppState((s) => s.detail["switches"]) ?? "record_shapes").split(",")) as Set<Switch>;
  const live = session?.live ?? false;
  useEffect(() => {
    if (!live) return;
    const look = () => api.live().then(setPrograms, () => undefined); // the page itself reports that the server is gone
    void look();
    const timer = setInterval(() => void look(), LOOK_MS);
    return () => clearInterval(timer);
  }, [live]);
  // What was stopped here opens when it is ready.
  const [awaited, setAwaited] = useState<readonly string[]>([]);
  useEffect(() => {
    const result = resultOf(session, awaited);
    if (result) store.set({ view: "timeline", window: result });
  }, [session, awaited, store]);
  if (!live) return <Empty title={t("live.none")} help={t("live.none.help")} />;
  const put = (part: Record<string, string>) => store.set({ detail: { ...store.get().detail, ...part } });
  const recording = programs.some((program) => program.state === "recording");
  const reachable = programs.some((program) => program.state !== "gone");
  const stop = () => {
    setAwaited(programs.filter((program) => program.state === "recording").map((program) => program.path));
    ask(api.liveStop());
  };
  const ask = (asked: Promise<LiveMessage[]>) => {
    setBusy(true);
    store.set({ error: "" });
    asked.then(setPrograms, actions.fail).finally(() => setBusy(false));
  };
  const shown = session?.traces.some((trace) => trace.tracks.length > 0) ?? false;
  return (
    <div className="page">
      <div className="toolbar live">
        <button
          className="primary"
          disabled={busy || recording || !reachable}
          onClick={() => ask(api.liveStart(optionsOf(level, chosen)))}
        >
          ● {t("live.start")}
        </button>
        <button disabled={busy || !recording} onClick={stop}>
          ■ {t(busy && recording ? "live.stopping" : "live.stop")}
        </button>
        <label>
          {t("live.level")}{" "}
          <select value={level} disabled={recording} onChange={(event) => put({ level: event.target.value })}>
            {LEVELS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {SWITCHES.map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={chosen.has(name)}
              disabled={recording}
              onChange={() => {
                const next = new Set(chosen);
                if (!next.delete(name)) next.add(name);
                put({ switches: [...next].join(",") || "," });
              }}
            />
            {t(`live.${name}`)}
          </label>
        ))}
        <span className="grow" />
        {shown && (
          <button onClick={() => store.set({ view: "timeline", ...(recording ? { window: null } : {}) })}>
            {t(recording ? "live.timeline" : "live.result")}
          </button>
        )}
      </div>
      <table className="programs" data-testid="programs">
        <thead>
          <tr>
            {(["program", "state", "rank", "records", "bytes", "dropped", "folder"] as const).map((name) => (
              <th key={name} className={["rank", "records", "bytes", "dropped"].includes(name) ? "right" : ""}>
                {t(`live.${name}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {programs.map((program) => (
            <tr key={program.address}>
              <td>
                {program.address} {program.pid > 0 && <small>pid {program.pid}</small>}
              </td>
              <td className={program.state === "gone" ? "error" : program.state === "recording" ? "warn" : ""}>
                {t(`live.is.${program.state as "idle" | "recording" | "gone"}`)} <small>{program.message}</small>
              </td>
              <td className="right">{program.rank >= 0 ? program.rank : "–"}</td>
              <td className="right">{formatCount(program.records)}</td>
              <td className="right">{formatBytes(program.bytes)}</td>
              <td className={`right ${program.dropped > 0 ? "error" : ""}`}>{formatCount(program.dropped)}</td>
              <td className="path">{program.path}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <div className="toolbar">
        <b>{t("live.recordings")}</b>
      </div>
      <div style={{ padding: "0 16px", overflow: "auto" }}>
        <TraceList />
      </div>
    </div>
  );
}

export const liveView: View = {
  name: "live",
  title: "view.live",
  component: Live,
  standsAlone: true,
  isUseful: (session) => session?.live ?? false,
};
