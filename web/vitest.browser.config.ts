import { defineConfig } from "vitest/config";

/** The page in a browser, against the built program: e2e/. */
export default defineConfig({
  test: { include: ["e2e/**/*.test.ts"], testTimeout: 120_000, hookTimeout: 60_000, fileParallelism: false },
});
