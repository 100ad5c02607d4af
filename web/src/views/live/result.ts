/** What a recording that was stopped has become. Pure. */
import type { SessionMessage } from "../../api/messages";

/** The window of the traces of these paths; null until all of them are ready. */
export function resultOf(
  session: SessionMessage | null,
  paths: readonly string[],
): { begin: number; end: number } | null {
  const traces = paths.map((path) => session?.traces.find((trace) => trace.path === path));
  const ready = traces.filter((trace) => trace?.state === "ready").map((trace) => trace!);
  if (paths.length === 0 || ready.length < paths.length) return null;
  const window = {
    begin: Math.min(...ready.map((trace) => trace.begin)),
    end: Math.max(...ready.map((trace) => trace.end)),
  };
  return window.end > window.begin ? window : null;
}
