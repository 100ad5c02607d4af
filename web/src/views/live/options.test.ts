import { expect, it } from "vitest";

import { optionsOf } from "./options";

it("sets each switch to yes or no", () => {
  expect(optionsOf("Level1", new Set(["with_stack", ""]))).toEqual({
    experimental_config: { _profiler_level: "Level1" },
    record_shapes: false,
    with_stack: true,
    profile_memory: false,
    with_modules: false,
  });
});
