/** The cells of a comparison's tables, in the language of the page. */
import type { ComparisonMessage } from "../../api/messages";
import { useApp } from "../../app/context";
import type { TextKey } from "../../i18n";

export const VERDICTS: Readonly<Record<string, TextKey>> = {
  changed: "compare.changed",
  unchanged: "compare.unchanged",
  "too noisy to decide": "compare.noisy",
  "one step: no verdict": "compare.one",
  appeared: "compare.appeared",
  vanished: "compare.vanished",
};
export const CAUSES: Readonly<Record<string, TextKey>> = {
  appeared: "compare.appeared",
  vanished: "compare.vanished",
  "other kernels": "compare.cause.kernels",
  "other shapes": "compare.cause.shapes",
  "other types": "compare.cause.types",
  "more or fewer calls": "compare.cause.calls",
  "other time at the same shapes": "compare.cause.speed",
  "other time (shapes are not recorded)": "compare.cause.time",
  "time of the host outside of operators": "compare.cause.host",
  "the device is idle (host gaps)": "compare.cause.idle",
  "communication that nothing hides": "compare.cause.exposed",
  "all work takes another time (clock or load of the machine)": "compare.cause.machine",
  "all work takes another time (its size or the machine: shapes are not recorded)": "compare.cause.unsized",
};
export const STAGES: Readonly<Record<string, TextKey>> = {
  step: "compare.step",
  computing: "compare.computing",
  communication: "compare.communication",
  free: "compare.free",
  outside: "compare.outside",
  program: "compare.program",
};

/** Others have their names everywhere: TTFT, TPOT. */
export const MEASURES: Readonly<Record<string, TextKey>> = {
  queue: "compare.measure.queue",
  batch: "compare.measure.batch",
  "engine step": "compare.measure.step",
};

export type Table = ComparisonMessage["tables"][number];

export function useWords() {
  const { t } = useApp();
  return (of: Readonly<Record<string, TextKey>>, word: unknown) => {
    const key = of[String(word)];
    return key ? t(key) : String(word);
  };
}
