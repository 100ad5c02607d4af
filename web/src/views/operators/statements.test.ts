import { expect, it } from "vitest";

import { taskStatement, totalsStatement } from "./statements";

it("has a column for each counter that was recorded", () => {
  expect(taskStatement([])).not.toContain("device_task_pmu");
  expect(taskStatement(["aic_mac_ratio"])).toContain(
    `max(CASE WHEN p.metric = 'aic_mac_ratio' THEN p.value END) AS "aic_mac_ratio"`,
  );
});

it("sums by each key", () => {
  expect(totalsStatement("core")).toMatch(/^SELECT core, sum\(count\)::BIGINT AS count.* FROM op_statistic GROUP BY 1/);
  expect(totalsStatement("type")).toContain("FROM op_statistic");
  expect(totalsStatement("shape")).toContain("AS shape, string_agg(DISTINCT core");
});
