/** The state as the part of the address behind '#', and back. Unknown and broken parts are left out. */
import { type Area, type Panel, type Place, startPlace } from "./state";

const PANELS: Panel[] = ["details", "area", "flame", "search", "marks"];
const FLAGS = ["regex", "case", "whole", "args"] as const;

const numbers = (text: string | null): number[] =>
  (text ?? "")
    .split(",")
    .map(Number)
    .filter((n) => Number.isFinite(n));

function readArea(text: string | null): Area | null {
  const [window, lanes] = (text ?? "").split(";");
  const [begin, end] = numbers(window ?? null);
  if (begin === undefined || end === undefined || !lanes) return null;
  const parsed = lanes.split(",").map((lane) => lane.split(":").map(Number));
  const good = parsed.filter((l) => l.length === 2 && l.every(Number.isInteger));
  return { begin, end, lanes: good.map(([trace, track]) => ({ trace: trace!, track: track! })) };
}

const list = (text: string | null): string[] => (text ? text.split("|").filter(Boolean) : []);

/** What a browser is set to; an address has the differences of a page. */
export type Preferred = Pick<Place, "theme" | "language">;

export function readAddress(hash: string, preferred: Preferred = startPlace): Place {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const place: Place = { ...startPlace, search: { ...startPlace.search }, offsets: {}, detail: {} };
  place.view = query.get("view") ?? startPlace.view;
  const [begin, end] = numbers(query.get("window"));
  if (begin !== undefined && end !== undefined && end > begin) place.window = { begin, end };
  const selection = (query.get("slice") ?? "").split(":").map(Number);
  if (selection.length === 2 && selection.every(Number.isInteger)) {
    place.selection = { trace: selection[0]!, id: selection[1]! };
  }
  place.area = readArea(query.get("area"));
  place.folded = list(query.get("fold"));
  place.pinned = list(query.get("pin"));
  place.hidden = list(query.get("hide"));
  place.order = list(query.get("order"));
  for (const part of (query.get("offset") ?? "").split(",")) {
    const [trace, by] = part.split(":").map(Number);
    if (part && Number.isInteger(trace) && Number.isFinite(by)) place.offsets[trace!] = by!;
  }
  place.marks = list(query.get("marks")).flatMap((mark) => {
    const [from, to, color, ...name] = mark.split(",");
    const [b, e, c] = [Number(from), Number(to), Number(color)];
    return Number.isFinite(b) && Number.isFinite(e) && Number.isInteger(c)
      ? [{ begin: b, end: e, color: c, name: name.join(",") }]
      : [];
  });
  place.search.text = query.get("search") ?? "";
  for (const flag of FLAGS) place.search[flag] = (query.get("find") ?? "").split(",").includes(flag);
  const panel = query.get("panel") as Panel;
  if (PANELS.includes(panel)) place.panel = panel;
  // Who is led to a slice sees what is known of it.
  place.drawer = (query.get("drawer") ?? (place.selection ? "1" : "0")) === "1";
  const theme = query.get("theme");
  place.theme = theme === "dark" || theme === "light" ? theme : preferred.theme;
  const language = query.get("lang");
  place.language = language === "zh" || language === "en" ? language : preferred.language;
  for (const [name, value] of query) if (name.startsWith("x.")) place.detail[name.slice(2)] = value;
  return place;
}

export function writeAddress(place: Place, preferred: Preferred = startPlace): string {
  const query = new URLSearchParams();
  const put = (name: string, value: string, standard = "") => {
    if (value !== standard) query.set(name, value);
  };
  put("view", place.view, startPlace.view);
  if (place.window) put("window", `${Math.round(place.window.begin)},${Math.round(place.window.end)}`);
  if (place.selection) put("slice", `${place.selection.trace}:${place.selection.id}`);
  if (place.area) {
    const lanes = place.area.lanes.map((l) => `${l.trace}:${l.track}`).join(",");
    put("area", `${Math.round(place.area.begin)},${Math.round(place.area.end)};${lanes}`);
  }
  put("fold", place.folded.join("|"));
  put("pin", place.pinned.join("|"));
  put("hide", place.hidden.join("|"));
  put("order", place.order.join("|"));
  put(
    "offset",
    Object.entries(place.offsets)
      .filter(([, by]) => by !== 0)
      .map(([trace, by]) => `${trace}:${by}`)
      .join(","),
  );
  put(
    "marks",
    place.marks
      .map((m) => `${Math.round(m.begin)},${Math.round(m.end)},${m.color},${m.name.replaceAll("|", " ")}`)
      .join("|"),
  );
  put("search", place.search.text);
  put("find", FLAGS.filter((flag) => place.search[flag]).join(","));
  put("panel", place.panel, startPlace.panel);
  put("drawer", place.drawer ? "1" : "0", place.selection ? "1" : "0");
  put("theme", place.theme, preferred.theme);
  put("lang", place.language, preferred.language);
  for (const [name, value] of Object.entries(place.detail)) put(`x.${name}`, value);
  return query.toString();
}
