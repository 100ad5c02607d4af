import type { ClientRequest } from "node:http";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** The program embeds compressed files: each output gets a .gz beside it. */
function compress() {
  return {
    name: "compress",
    writeBundle({ dir }: { dir?: string }) {
      for (const name of readdirSync(dir!)) {
        if (name.endsWith(".gz") || name === "packages.json") continue;
        writeFileSync(join(dir!, `${name}.gz`), gzipSync(readFileSync(join(dir!, name)), { level: 9 }));
      }
    },
  };
}

/** Lists the packages that are built into the page in packages.json, for their licences (tools/licenses.py). */
function listPackages() {
  return {
    name: "list-packages",
    generateBundle(
      this: { emitFile(file: object): void },
      _: unknown,
      bundle: Record<string, { moduleIds?: string[] }>,
    ) {
      const names = new Set<string>();
      for (const { moduleIds } of Object.values(bundle)) {
        for (const id of moduleIds ?? []) {
          const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1];
          if (name) names.add(name);
        }
      }
      const text = JSON.stringify([...names].sort(), undefined, 1) + "\n";
      this.emitFile({ type: "asset", fileName: "packages.json", source: text });
    },
  };
}

/** Of a running `sonde view`, by the address that it printed; it refuses requests of other origins. */
const view = new URL(process.env["SONDE_VIEW"] ?? "http://127.0.0.1:8017");
const api = {
  target: view.origin,
  changeOrigin: true,
  headers: { cookie: `sonde_token_${view.port}=${view.searchParams.get("token") ?? ""}` },
  configure: (proxy: { on(event: "proxyReq", listener: (request: ClientRequest) => void): void }) =>
    proxy.on("proxyReq", (request) => request.removeHeader("origin")),
};

export default defineConfig({
  plugins: [react(), listPackages(), compress()],
  server: { proxy: { "/api": api } },
  build: {
    target: "es2022",
    modulePreload: false,
    rolldownOptions: {
      output: {
        entryFileNames: "app.js",
        assetFileNames: "app[extname]",
        codeSplitting: false,
      },
    },
  },
  test: { include: ["src/**/*.test.{ts,tsx}"], environment: "node" },
});
