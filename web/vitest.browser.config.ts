import { defineConfig } from "vitest/config";

/** The page in a browser, against the built program: e2e/. */
export default defineConfig({
  test: {
    include: ["e2e/**/*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // What a page shows comes after what was done: it is polled for, however busy the machine is.
    expect: { poll: { timeout: 30_000 } },
    fileParallelism: false,
  },
});
