import { expect, it, vi } from "vitest";

import { api } from "../../api/client";
import type { AreaMessage, SessionMessage } from "../../api/messages";
import { Computed } from "./computed";
import { OVERLAP_KINDS, computedId } from "./overlap";

it("names what took longest by itself on the host in a gap of the device, eight at most", async () => {
  const columns = ["type", "device_id", "start_ns", "end_ns"].map((name) => ({ name, type: "" }));
  const gap = [["Free", 0, 1000, 1100]];
  vi.spyOn(api, "wholeRecipe").mockResolvedValue({ columns, rows: gap, complete: true, elapsed: 0 });
  vi.spyOn(api, "offsetOf").mockReturnValue(0);
  const rows = [...Array(10).keys()].map((self) => ({ name: `f${self}`, self, count: 1 }));
  vi.spyOn(api, "area").mockResolvedValue({ rows } as unknown as AreaMessage);
  const tracks = [{ id: 7, kind: "thread", slices: 1 }];
  const computed = new Computed(
    () => ({ base: "1000", traces: [{ version: 1, tracks }] }) as unknown as SessionMessage,
  );
  const { facts } = await computed.slice(0, computedId(OVERLAP_KINDS.indexOf("Free"), 0));
  expect(facts.map(({ key }) => key)).toEqual(["f9", "f8", "f7", "f6", "f5", "f4", "f3", "f2"]);
});
