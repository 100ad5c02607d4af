/** Jobs of many ranks with a truth that is known, as traces of PyTorch's profiler: each step computes, then all ranks
 * meet in a collective that ends together, then the device is free. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Job {
  folder: string;
  remove: () => void;
}

export interface JobOptions {
  ranks: number;
  steps: number;
  /** Microseconds that a rank computes in a step. */
  computing: (rank: number, step: number) => number;
}

/** Microseconds: a step, where its collective ends, and what the device is free between computing and that. */
export const STEP = 1000;
export const TOGETHER = 900;
export const GAP = 20;

export function makeJob({ ranks, steps, computing }: JobOptions): Job {
  const root = mkdtempSync(join(tmpdir(), "sonde-job-"));
  const folder = join(root, "job");
  mkdirSync(folder);
  const everybody = JSON.stringify(Array.from({ length: ranks }, (_, rank) => rank));
  for (let rank = 0; rank < ranks; ++rank) {
    const traceEvents: object[] = [];
    let correlation = 1;
    const launched = (ts: number, dur: number, name: string, args: object) => {
      const id = correlation++;
      traceEvents.push(
        { ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: rank, tid: 1, ts: ts - 2, dur: 1, args: { correlation: id } }, // prettier-ignore
        { ph: "X", cat: "kernel", name, pid: 0, tid: 7, ts, dur, args: { device: 0, stream: 7, correlation: id, ...args } }, // prettier-ignore
      );
    };
    for (let step = 0; step < steps; ++step) {
      const begin = 10_000 + step * STEP;
      traceEvents.push(
        { ph: "X", cat: "user_annotation", name: `ProfilerStep#${step}`, pid: rank, tid: 1, ts: begin, dur: STEP },
        { ph: "X", cat: "cpu_op", name: "aten::mm", pid: rank, tid: 1, ts: begin + 5, dur: 20 },
      );
      const work = computing(rank, step);
      const meet = begin + 10 + work + GAP;
      launched(begin + 10, work, "sm80_gemm_kernel", {});
      launched(meet, begin + TOGETHER - meet, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclWork)", {
        "Collective name": "allreduce",
        "In msg nelems": 1024,
        "Out msg nelems": 1024,
        "Group size": ranks,
        dtype: "Float",
        "Process Group Name": "0",
        "Process Group Description": "default_pg",
        "Process Group Ranks": everybody,
      });
    }
    const distributedInfo = { backend: "nccl", rank, world_size: ranks };
    writeFileSync(join(folder, `rank${rank}.json`), JSON.stringify({ schemaVersion: 1, distributedInfo, traceEvents }));
  }
  return { folder, remove: () => rmSync(root, { recursive: true, force: true }) };
}
