/** Which colour of a palette a text gets: the same in every trace and session. */
export function colorIndex(text: string, colors: number): number {
  let hash = 2166136261;
  for (let i = 0; i < text.length; ++i) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 16777619);
  }
  hash ^= hash >>> 15;
  return (hash >>> 0) % colors;
}

/** So much of `b` in `a`, both "#rrggbb"; share 0 to 1. */
export function mix(a: string, b: string, share: number): string {
  const channel = (at: number) => {
    const [from, to] = [a, b].map((color) => parseInt(color.slice(at, at + 2), 16)) as [number, number];
    return Math.round(from + (to - from) * share)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${channel(1)}${channel(3)}${channel(5)}`;
}

/** "#rrggbb" -> relative luminance of WCAG. */
export function luminance(color: string): number {
  const channel = (at: number) => {
    const value = parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

/** Contrast of WCAG, 1 to 21. */
export function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** Black or white, whichever stands out more: one of them can be read on any ground (4.5 to 1). */
export function readable(background: string): string {
  return contrast("#000000", background) > contrast("#ffffff", background) ? "#000000" : "#ffffff";
}
