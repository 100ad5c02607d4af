import { expect, it } from "vitest";

import { blockStatement, ownerStatement } from "./statements";

it("takes blocks that live in the range, those of unknown begin or end too", () => {
  expect(blockStatement(null)).not.toContain("WHERE");
  expect(blockStatement(["5", "9"])).toContain(
    "WHERE coalesce(alloc_ts, 0) <= 9 AND coalesce(free_ts, 9223372036854775807) >= 5",
  );
  expect(ownerStatement(["5", "5"], "module")).toMatch(/SELECT coalesce\(f\.module.*<= 5.*GROUP BY 1/);
  expect(ownerStatement(null, "op")).toContain("coalesce(b.name, s.name, '')");
});
