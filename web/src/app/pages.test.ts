import { expect, it } from "vitest";

import { NO_FILTER, parseFilter } from "./filter";
import { countStatement, groupStatement, pageStatement, rowsStatement } from "./pages";

const columns = [
  { name: "name", type: "text" },
  { name: "dur", type: "integer" },
];

it("asks for a page of the rows that are left, in an order without ties", () => {
  expect(rowsStatement("SELECT 1;", columns, NO_FILTER, null)).toBe("SELECT 1;");
  expect(rowsStatement("SELECT 1; ", columns, parseFilter(columns, "dur>1"), { column: 1, descending: true })).toBe(
    `SELECT * FROM (SELECT 1\n) WHERE "dur" > 1 ORDER BY "dur" DESC NULLS LAST, "name"`,
  );
  expect(pageStatement("SELECT 1 -- one", 2)).toBe("SELECT * FROM (SELECT 1 -- one\n) LIMIT 400 OFFSET 800");
  expect(countStatement("SELECT 1", columns, NO_FILTER)).toBe("SELECT count(*) FROM (SELECT 1\n)");
  expect(rowsStatement("SELECT 1", columns, NO_FILTER, null, [1])).toBe(`SELECT "dur" FROM (SELECT 1\n)`);
});

it("groups", () => {
  expect(groupStatement("SELECT 1", columns, NO_FILTER, 0, [false, true], 2)).toBe(
    `SELECT "name", count(*) AS count, sum("dur") AS "dur" FROM (SELECT 1\n) GROUP BY 1 ORDER BY 3 DESC NULLS LAST`,
  );
});
