import { expect, it } from "vitest";

import { readAddress, writeAddress } from "./address";
import { type Place, startPlace } from "./state";

it("keeps the whole state", () => {
  const place: Place = {
    view: "tables",
    window: { begin: -5, end: 1_000_000_000_123 },
    selection: { trace: 1, id: 42 },
    area: {
      begin: 1,
      end: 9,
      lanes: [
        { trace: 0, track: 3 },
        { trace: 1, track: 0 },
      ],
    },
    folded: ["0/host"],
    pinned: ["0:1", "1:1"],
    hidden: ["0:7"],
    order: ["0:2", "0:1", "1"],
    offsets: { 1: -250, 3: 7 },
    marks: [{ begin: 1, end: 1, name: "here, & there", color: 3 }],
    search: { text: "aten::.*|mm", regex: true, case: false, whole: false, args: true },
    panel: "flame",
    drawer: true,
    theme: "dark",
    language: "zh",
    detail: { table: "kernels", filter: "a=b&c" },
  };
  expect(readAddress(`#${writeAddress(place)}`)).toEqual(place);
});

it("is empty at the start, and survives nonsense", () => {
  expect(writeAddress(startPlace)).toBe("");
  expect(readAddress("")).toEqual(startPlace);
  expect(readAddress("#window=x,y&slice=a:b&area=;;&marks=z&panel=none&window=9,1")).toMatchObject({
    window: null,
    selection: null,
    area: null,
    marks: [],
    panel: "details",
  });
});

it("has theme and language where they are not those of the browser", () => {
  const chinese = { theme: "dark", language: "zh" } as const;
  expect(writeAddress({ ...startPlace, ...chinese }, chinese)).toBe("");
  expect(readAddress("#view=memory", chinese)).toMatchObject({ view: "memory", ...chinese });
  const hash = writeAddress(startPlace, chinese);
  expect(hash).toBe("theme=light&lang=en");
  expect(readAddress(hash, chinese)).toEqual(startPlace);
});
