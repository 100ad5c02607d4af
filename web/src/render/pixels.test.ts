import { describe, expect, it } from "vitest";

import { Pixels, between, packed } from "./pixels";

const rows = (picture: Pixels) =>
  Array.from({ length: picture.rows }, (_, y) =>
    [...picture.data.subarray(y * picture.columns, (y + 1) * picture.columns)].join(""),
  );

describe("pixels", () => {
  it("fills what lies inside", () => {
    const picture = new Pixels(4, 3);
    picture.fill(1, 1, 1, 2, 1);
    picture.fill(2, -5, 2, 7, 9);
    picture.fill(3, 9, 0, 2, 2);
    expect(rows(picture)).toEqual(["0000", "0110", "2200"]);
  });
  it("paints strips over what is there", () => {
    const picture = new Pixels(4, 4);
    picture.fill(7, 0, 0, 1, 4);
    picture.strip(1, 2, (line) => line.fill(5, 2, 3));
    picture.strip(9, 2, (line) => line.fill(6));
    expect(rows(picture)).toEqual(["7000", "7050", "7050", "7000"]);
  });
  it("snaps to the pixels of the screen", () => {
    const picture = new Pixels(2, 1, 2);
    picture.fill(1, 0.5, 0, 1, 1);
    expect(rows(picture)).toEqual(["0110", "0110"]);
  });
  it("packs colours as a picture's bytes are", () => {
    expect([...new Uint8Array(new Uint32Array([packed("#102030")]).buffer)]).toEqual([16, 32, 48, 255]);
    expect(between(packed("#000000"), packed("#204060"))).toBe(packed("#102030"));
  });
});
