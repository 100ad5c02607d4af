import { expect, it } from "vitest";

import { layoutFlame, shortFrame } from "./flame";

const node = (parent: number, name: string, total: number) => ({ parent, name, total, self: 0, count: 1 });
const flame = { complete: true, nodes: [node(-1, "a", 60), node(-1, "b", 40), node(0, "c", 30), node(0, "d", 1)] };

it("puts callees below their callers, the longest first", () => {
  expect(layoutFlame(flame, -1, 0.05)).toEqual([
    { node: 0, left: 0, width: 0.6, depth: 0 },
    { node: 2, left: 0, width: 0.3, depth: 1 },
    { node: 1, left: 0.6, width: 0.4, depth: 0 },
  ]);
});

it("lets one frame fill the width", () => {
  expect(layoutFlame(flame, 0, 0.05)[1]).toEqual({ node: 2, left: 0, width: 0.5, depth: 1 });
});

it("leaves out of a frame where its package lies", () => {
  expect(
    [
      "/home/a/.local/lib/python3.9/site-packages/torch/nn/functional.py(9): relu",
      "/home/a/miniconda3/lib/python3.9/multiprocessing/spawn.py(116): spawn_main",
      "/src/project/scripts/main.py(282): main_worker",
      "/main.py(1): a/b",
      "<string>(1): <module>",
      "aten::mm",
    ].map(shortFrame),
  ).toEqual([
    "torch/nn/functional.py(9): relu",
    "multiprocessing/spawn.py(116): spawn_main",
    "scripts/main.py(282): main_worker",
    "/main.py(1): a/b",
    "<string>(1): <module>",
    "aten::mm",
  ]);
});
