/** Curves of memory from the answer to `curveStatement`. Pure. */
import type { Cell } from "../../api/messages";

export const KINDS = ["allocated", "reserved", "active"] as const;
export type Kind = (typeof KINDS)[number];

export interface MemoryCurve {
  /** Whose memory it is; "" where there is one owner only. */
  owner: string;
  kind: Kind;
  /** Moments as `place` gave them, and bytes. */
  points: [number, number][];
  peak: number;
}

/** Those that are not zero all the time. `place`: where a moment (nanoseconds of the epoch) stands. */
export function curvesOf(rows: readonly Cell[][], place: (ts: bigint) => number): MemoryCurve[] {
  const made: MemoryCurve[] = [];
  for (const owner of new Set(rows.map((row) => String(row[0])))) {
    KINDS.forEach((kind, i) => {
      const own = rows.filter((row) => String(row[0]) === owner && row[3 + i] !== null);
      const peak = own.reduce((best, row) => Math.max(best, Number(row[3 + i])), 0);
      if (peak === 0) return;
      const points = own.map((row): [number, number] => [place(BigInt(String(row[2]))), Number(row[3 + i])]);
      made.push({ owner, kind, points, peak });
    });
  }
  return made;
}
