import { describe, expect, it } from "vitest";

import { contrast, mix, readable } from "../base/color";
import { themes } from "./themes";

describe.each(Object.entries(themes))("theme %s", (_name, theme) => {
  it("has readable texts on every ground", () => {
    for (const ground of [theme.background, theme.panel, theme.raised]) {
      for (const text of [theme.text, theme.muted, theme.accent, theme.warning, theme.error]) {
        expect(contrast(text, ground), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
      }
    }
    expect(contrast(theme.accentText, theme.accent)).toBeGreaterThanOrEqual(4.5);
  });
  it("has readable texts in bars", () => {
    const bars = [...theme.bars, theme.computing, theme.communication, theme.exposed, theme.copying];
    for (const bar of bars) {
      expect(contrast(theme.barText, bar), bar).toBeGreaterThanOrEqual(4.5);
    }
  });
  it("shows curves on every ground", () => {
    for (const line of theme.lines) {
      for (const ground of [theme.background, theme.panel])
        expect(contrast(line, ground), line).toBeGreaterThanOrEqual(3);
    }
    expect(new Set(theme.lines).size).toBe(theme.lines.length);
  });
  it("shows the selection against ground and bars", () => {
    expect(contrast(theme.selection, theme.background)).toBeGreaterThanOrEqual(3);
  });
});

it("has a readable text on every shade of a heat map", () => {
  for (const theme of Object.values(themes)) {
    for (let share = 0; share <= 1; share += 0.05) {
      const ground = mix(theme.faint, theme.computing, share);
      expect(contrast(readable(ground), ground), ground).toBeGreaterThanOrEqual(4.5);
    }
  }
});
