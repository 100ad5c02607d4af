/** Tables as `sonde cluster` writes them. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { binary } from "./page";

/** Rows of a csv whose name begins so, by heading; without commas inside of cells. */
export function clusterTable(mode: string, path: string, file: string): Record<string, string>[] {
  const out = mkdtempSync(join(tmpdir(), "sonde-cluster-"));
  try {
    const words = ["cluster", "-m", mode, "-d", path, "-o", out, "--export_type", "text"];
    execFileSync(binary, words, { env: { ...process.env, XDG_CACHE_HOME: join(out, "cache") }, stdio: "pipe" });
    const folder = join(out, "cluster_analysis_output");
    const found = readdirSync(folder, { recursive: true, encoding: "utf8" }).find((name) => {
      const base = name.split("/").at(-1)!;
      return base.startsWith(file) && base.endsWith(".csv");
    });
    const [head, ...lines] = readFileSync(join(folder, found!), "utf8").trim().split(/\r?\n/);
    const names = head!.split(",");
    return lines.map((line) => Object.fromEntries(line.split(",").map((cell, at) => [names[at], cell])));
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}
