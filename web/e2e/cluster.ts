/** Tables as `sonde cluster` writes them. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { binary } from "./page";

const READ = `
import json, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute(f"SELECT * FROM {sys.argv[2]}")
names = [column[0] for column in rows.description]
print(json.dumps([dict(zip(names, row)) for row in rows]))
`;

/** Rows of a table of cluster_analysis.db, by column. */
export function clusterTable(mode: string, path: string, table: string): Record<string, string | number>[] {
  const out = mkdtempSync(join(tmpdir(), "sonde-cluster-"));
  try {
    const words = ["cluster", "-m", mode, "-d", path, "-o", out, "--export_type", "db"];
    execFileSync(binary, words, { env: { ...process.env, XDG_CACHE_HOME: join(out, "cache") }, stdio: "pipe" });
    const db = join(out, "cluster_analysis_output", "cluster_analysis.db");
    return JSON.parse(execFileSync("python3", ["-c", READ, db, table], { encoding: "utf8" })) as Record<
      string,
      string
    >[];
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}
