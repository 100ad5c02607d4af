import { expect, it } from "vitest";

import { en } from "./en";
import { translator } from "./index";
import { zh } from "./zh";

it("has each text in both languages, with the same places for values", () => {
  expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
  const places = (text: string) => (text.match(/\{\d\}/g) ?? []).sort().join();
  for (const key of Object.keys(en) as (keyof typeof en)[]) {
    expect(zh[key].trim(), key).not.toBe("");
    expect(places(zh[key]), key).toBe(places(en[key]));
  }
});

it("puts values into texts", () => {
  expect(translator("en")("search.count", 2, 7)).toBe("2 of 7");
  expect(translator("zh")("search.count", 2, 7)).toBe("第 2 个，共 7 个");
});
