/** The colours of both themes; the style sheet takes them as variables, the canvas as they are. */
export interface Theme {
  background: string;
  panel: string;
  raised: string;
  line: string;
  faint: string;
  text: string;
  muted: string;
  accent: string;
  accentText: string;
  warning: string;
  error: string;
  selection: string;
  bars: readonly string[];
  /** Colours that distinguish curves. */
  lines: readonly string[];
  barText: string;
  pending: string;
  computing: string;
  communication: string;
  exposed: string;
  copying: string;
  free: string;
  counter: string;
  counterLine: string;
}

export const themes: Record<"light" | "dark", Theme> = {
  light: {
    background: "#fbfcfd",
    panel: "#f3f5f8",
    raised: "#ffffff",
    line: "#d5dbe3",
    faint: "#e9edf2",
    text: "#18212c",
    muted: "#55616f",
    accent: "#1f6a94",
    accentText: "#ffffff",
    warning: "#8a5a00",
    error: "#b3261e",
    selection: "#d4530a",
    bars: [
      "#8fbcdb",
      "#a9d1a1",
      "#e9c48e",
      "#cbaedb",
      "#8fd1c6",
      "#eaaea4",
      "#b9bbe8",
      "#d8d28c",
      "#a0cfea",
      "#e6b5d0",
      "#b9d6ae",
      "#cdc3b2",
    ],
    lines: ["#1f6a94", "#c0392b", "#7d5a00", "#4a7d2c", "#7b4aa3", "#00766c"],
    barText: "#16202b",
    pending: "#d3d9e0",
    computing: "#8ccb9b",
    communication: "#8fb8e6",
    exposed: "#eea092",
    copying: "#e9c48e",
    free: "#d6dae0",
    counter: "#c3dbea",
    counterLine: "#3d84ad",
  },
  dark: {
    background: "#12171d",
    panel: "#191f27",
    raised: "#212933",
    line: "#323c48",
    faint: "#232b35",
    text: "#e4e9ef",
    muted: "#9dabb9",
    accent: "#6db7df",
    accentText: "#0d1319",
    warning: "#e3b45a",
    error: "#f28b82",
    selection: "#ffa15c",
    bars: [
      "#6d9fc0",
      "#7fae77",
      "#c49f67",
      "#ab8abd",
      "#63aba0",
      "#c98a80",
      "#9394c9",
      "#aca765",
      "#78abc9",
      "#c08eab",
      "#93b389",
      "#a59b89",
    ],
    lines: ["#6db7df", "#f28b82", "#e3b45a", "#9ccf7f", "#c6a2e8", "#5fd0c2"],
    barText: "#0c1218",
    pending: "#38424e",
    computing: "#6fae80",
    communication: "#7299cb",
    exposed: "#cf7f71",
    copying: "#c49f67",
    free: "#6b7683",
    counter: "#2c4b5f",
    counterLine: "#7fbede",
  },
};

export type ThemeName = keyof typeof themes;

/** The style sheet's variables: --background, --panel, ... */
export function themeVariables(theme: Theme): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(theme)) {
    if (typeof value === "string") variables[`--${name}`] = value;
  }
  return variables;
}
