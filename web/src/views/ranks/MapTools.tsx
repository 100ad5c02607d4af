/** What is chosen of a map of ranks and steps, kept in the address, and its colours. */
import type { ReactNode } from "react";

import { useApp, useAppState } from "../../app/context";
import { mix } from "../../base/color";
import { formatDuration } from "../../base/format";
import { MEASURES, type Measure } from "./times";

const NAMES = Object.keys(MEASURES) as Measure[];

export interface MapChoice {
  measure: Measure;
  /** Against the median rank. */
  isCompared: boolean;
  /** Largest first. */
  isSorted: boolean;
  set: (part: Record<string, string>) => void;
}

export function useMapChoice(): MapChoice {
  const { store } = useApp();
  const detail = useAppState((s) => s.detail);
  return {
    measure: NAMES.find((name) => name === detail["measure"]) ?? "computing",
    isCompared: detail["middle"] === "1",
    isSorted: detail["order"] === "1",
    set: (part) => store.set({ detail: { ...store.get().detail, ...part } }),
  };
}

export const signed = (isCompared: boolean, number: number) =>
  `${isCompared && number > 0 ? "+" : ""}${formatDuration(number)}`;

/** The colour of a value between these ends; undefined where there is none. */
export function useMapColors({ measure, isCompared }: MapChoice, low: number, high: number) {
  const { theme } = useApp();
  const tone = {
    step: theme.accent,
    computing: theme.computing,
    exposed: theme.exposed,
    wait: theme.communication,
    free: theme.muted,
  }[measure];
  const colorOf = (value: number) => {
    if (!Number.isFinite(value)) return undefined;
    if (!isCompared) return mix(theme.faint, tone, high > low ? (value - low) / (high - low) : 1);
    const most = Math.max(Math.abs(low), Math.abs(high), 1);
    return mix(theme.faint, value > 0 ? theme.exposed : theme.communication, Math.abs(value) / most);
  };
  const scale = isCompared
    ? `linear-gradient(90deg, ${theme.communication}, ${theme.faint}, ${theme.exposed})`
    : `linear-gradient(90deg, ${theme.faint}, ${tone})`;
  return { colorOf, scale };
}

export function MapTools(of: {
  choice: MapChoice;
  /** Those that are known. */
  measures?: readonly string[];
  low: number;
  high: number;
  scale: string;
  children?: ReactNode;
}) {
  const { t } = useApp();
  const { measure, isCompared, isSorted, set } = of.choice;
  return (
    <div className="toolbar">
      {of.children}
      {NAMES.filter((name) => of.measures?.includes(name) ?? true).map((name) => (
        <button key={name} aria-pressed={measure === name} onClick={() => set({ measure: name })}>
          {t(`ranks.${name}`)}
        </button>
      ))}
      <span className="scale" data-testid="scale">
        {signed(isCompared, of.low)}
        <i style={{ background: of.scale }} />
        {signed(isCompared, of.high)}
      </span>
      <span className="grow" />
      <button
        aria-pressed={isCompared}
        title={t("ranks.median.help")}
        onClick={() => set({ middle: isCompared ? "" : "1" })}
      >
        {t("ranks.median")}
      </button>
      <button aria-pressed={isSorted} onClick={() => set({ order: isSorted ? "" : "1" })}>
        {t("ranks.sorted")}
      </button>
    </div>
  );
}
