import { describe, expect, it } from "vitest";

import { leastWidth } from "./Grid";

describe("columns", () => {
  it("leave room for their texts, within bounds", () => {
    const text = { name: "name", kind: "text" as const };
    expect(leastWidth(text, 0, [["mm"]])).toBe(84);
    expect(leastWidth(text, 0, [["hcom allreduce."], [null]])).toBe(15 * 7 + 22);
    expect(leastWidth(text, 0, [["x".repeat(500)]])).toBe(230);
    expect(leastWidth({ name: "dur", kind: "duration", width: 100 }, 0, [[1]])).toBe(100);
    expect(leastWidth({ name: "Communication, alone", kind: "duration" }, 0, [[1]])).toBeGreaterThan(150);
    expect(leastWidth({ name: "ts", kind: "moment" }, 0, [["123456789012"]])).toBe(
      "123456.789012 ms".length * 7 + 12 * 1.5 + 22,
    );
  });
});
