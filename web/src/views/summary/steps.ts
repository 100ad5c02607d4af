/** The breakdown of steps by rank. Pure. */
import type { TableMessage } from "../../api/messages";
import { columnOf } from "../../app/columns";

export interface Step {
  rank: string;
  trace: number;
  step: string;
  /** Where a rank has several, the one that it is of; else "". */
  device: string;
  computing: number;
  overlapped: number;
  exposed: number;
  /** Neither of both, between their first and last work. */
  free: number;
  /** Copies while nothing is computed or communicated. */
  copying: number;
  /** Nothing at all, between the first and last work of all three: without copies the same as `free`. */
  idle: number;
}

export const wholeOf = (step: Step) => step.computing + step.exposed + step.copying + step.idle;

export const hasCopies = (steps: readonly Step[]) => steps.some((step) => step.copying > 0);

/** The longest of them, in their order. */
export function longest(steps: readonly Step[], most: number): readonly Step[] {
  if (steps.length <= most) return steps;
  const kept = new Set(steps.toSorted((a, b) => wholeOf(b) - wholeOf(a)).slice(0, most));
  return steps.filter((step) => kept.has(step));
}

export function stepsOf(rank: string, trace: number, table: TableMessage): Step[] {
  const at = (name: string) => columnOf(table, name);
  const number = (row: readonly unknown[], name: string) => Number(row[at(name)] ?? 0);
  // Its process and its number identify a device.
  const deviceOf = (row: readonly unknown[]) => String(row[at("device_id")] ?? "");
  const processOf = (row: readonly unknown[]) => String(row[at("process_id")] ?? "");
  const processes = new Set(table.rows.map(processOf)).size;
  const several = processes > 1 || new Set(table.rows.map(deviceOf)).size > 1;
  const nameOf = (row: readonly unknown[]) => (processes > 1 ? `${deviceOf(row)} (${processOf(row)})` : deviceOf(row));
  return table.rows.map((row) => ({
    rank,
    trace,
    device: several ? nameOf(row) : "",
    step: row[at("step_id")] === null || Number(row[at("step_id")]) < 0 ? "–" : String(row[at("step_id")]),
    computing: number(row, "computing_ns"),
    overlapped: number(row, "overlapped_ns"),
    exposed: number(row, "not_overlapped_ns"),
    free: number(row, "free_ns"),
    copying: number(row, "copying_ns"),
    idle: number(row, number(row, "copying_ns") > 0 ? "idle_ns" : "free_ns"),
  }));
}

/** Whether there was any computing: else the tasks of the device were not kept. */
export function computes(table: TableMessage): boolean {
  const at = columnOf(table, "computing_ns");
  return table.rows.some((row) => Number(row[at] ?? 0) > 0);
}

/** The rows of step_trace_time.csv: texts, microseconds. */
export function writtenStepsOf(rank: string, trace: number, table: TableMessage): Step[] {
  const at = (name: string) => columnOf(table, name);
  const time = (row: readonly unknown[], name: string) => Math.round(Number(row[at(name)] ?? 0) * 1000);
  const several = new Set(table.rows.map((row) => row[at("Device_id")])).size > 1;
  return table.rows.map((row) => ({
    rank,
    trace,
    device: several ? String(row[at("Device_id")] ?? "") : "",
    step: String(row[at("Step")] ?? "") || "–",
    computing: time(row, "Computing"),
    overlapped: time(row, "Overlapped"),
    exposed: time(row, "Communication(Not Overlapped)"),
    free: time(row, "Free"),
    copying: 0, // the file has no column of them
    idle: time(row, "Free"),
  }));
}

export interface RankTotal {
  rank: string;
  trace: number;
  steps: number;
  average: number;
  computing: number;
  exposed: number;
  free: number;
  copying: number;
  idle: number;
  /** How much longer it computes than the median rank, as a share. */
  slower: number;
}

/** How much longer a rank computes than the median; a rank without recorded computing is not compared. Devices of a
 * rank work in parallel: a step takes as long as the longest of them. */
export function rankTotals(steps: readonly Step[]): RankTotal[] {
  const totals = new Map<number, RankTotal>();
  const wholes = new Map<number, Map<string, number>>();
  for (const step of steps) {
    const total = totals.get(step.trace) ?? {
      rank: step.rank,
      trace: step.trace,
      steps: 0,
      average: 0,
      computing: 0,
      exposed: 0,
      free: 0,
      copying: 0,
      idle: 0,
      slower: 0,
    };
    const own = wholes.get(step.trace) ?? new Map<string, number>();
    wholes.set(step.trace, own.set(step.step, Math.max(own.get(step.step) ?? 0, wholeOf(step))));
    total.computing += step.computing;
    total.exposed += step.exposed;
    total.free += step.free;
    total.copying += step.copying;
    total.idle += step.idle;
    totals.set(step.trace, total);
  }
  const list = [...totals.values()];
  for (const total of list) {
    const own = [...wholes.get(total.trace)!.values()];
    total.steps = own.length;
    total.average = own.reduce((sum, whole) => sum + whole, 0) / Math.max(1, own.length);
  }
  const own = (total: RankTotal) => total.computing / Math.max(1, total.steps);
  const sorted = list
    .map(own)
    .filter((time) => time > 0)
    .sort((a, b) => a - b);
  const median = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  for (const total of list) total.slower = median > 0 && own(total) > 0 ? own(total) / median - 1 : 0;
  return list;
}
