import { expect, it } from "vitest";

import { linksOf, transportsOf } from "./links";

const names = ["op_name", "src_rank", "dst_rank", "transport", "size_bytes", "time_ns"];
const columns = names.map((name) => ({ name, type: "", unit: "", role: "", better: "", space: "", meaning: "" }));
const table = (rows: (string | number)[][]) => ({ name: "", meaning: "", complete: true, columns, rows });

it("sums the totals of all kinds by link, the slowest of its kind first", () => {
  const links = linksOf(
    table([
      ["allreduce-total", 0, 1, "HCCS", 100, 10],
      ["allgather-total", 0, 1, "HCCS", 100, 10],
      ["allgather-top1", 0, 1, "HCCS", 100, 10],
      ["allreduce-total", 1, 0, "HCCS", 100, 40],
      ["allreduce-total", 1, 2, "HCCS", 100, 10],
      ["allreduce-total", 0, 2, "RDMA", 10, 10],
      ["allreduce-total", 0, 0, "LOCAL", 10, 1],
      ["allreduce-total", 2, 0, "PCIE", 10, 0],
    ]),
  );
  expect(links.map(({ from, to, bandwidth, above }) => [from, to, bandwidth, above])).toEqual([
    [1, 0, 2.5, -0.75],
    [0, 1, 10, 0],
    [0, 2, 1, 0],
    [1, 2, 10, 0],
    [2, 0, null, null],
  ]);
  expect(links[1]!.bytes).toBe(200);
  expect(transportsOf(links)).toEqual(["HCCS", "PCIE", "RDMA"]);
});
