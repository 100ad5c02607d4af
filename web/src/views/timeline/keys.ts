/** The timeline's keys. keyHelp lists all of the page, and is what the help shows. */
import type { Actions } from "../../app/actions";
import type { Store } from "../../app/state";
import type { TextKey, Translate } from "../../i18n";
import { PAN_PART, ZOOM_STEP } from "./viewport";

export const keyHelp: readonly [string, TextKey][] = [
  ["W  S", "key.zoom"],
  ["A  D  ←  →", "key.pan"],
  ["↑  ↓", "key.scroll"],
  ["wheel", "key.wheel"],
  ["drag", "key.drag"],
  ["F", "key.focus"],
  ["Shift+Z", "key.selection"],
  ["Backspace", "key.undo"],
  ["Ctrl+0", "key.fit"],
  [",  .", "key.neighbour"],
  ["P  N", "key.same"],
  ["[  ]", "key.flow"],
  ["U", "key.parent"],
  ["R  M", "key.area"],
  ["K", "key.mark"],
  ["/", "key.search"],
  ["Enter  Shift+Enter", "key.hits"],
  ["Shift+↑  Shift+↓", "key.cursor"],
  ["Enter", "key.enter"],
  ["Shift+PgUp  Shift+PgDn", "key.move"],
  ["C", "key.collapse"],
  ["H  Shift+H", "key.hide"],
  ["T  Shift+T", "key.pin"],
  ["B", "key.anchor"],
  ["L  R", "key.align"],
  ["Menu  Shift+F10", "key.menu"],
  ["Q", "key.drawer"],
  ["1 … 9", "key.views"],
  ["O", "key.open"],
  [":", "key.sql"],
  ["Ctrl+K  Ctrl+P  >", "key.palette"],
  ["?", "key.help"],
  ["Esc", "key.escape"],
];

export interface TimelineMoves {
  zoom(factor: number): void;
  pan(part: number): void;
  scroll(by: number): void;
  time(): number | null;
  fold(): void;
  hide(): void;
  pin(): void;
  /** All lanes of that name. */
  pinSame(): void;
  /** The next lane, for keys. */
  cursor(step: 1 | -1): void;
  /** The lane changes places. */
  move(step: 1 | -1): void;
  /** Selects in the lane of the cursor; false where there is nothing. */
  enter(): boolean;
  menu(): void;
}

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}

function zoomToSelection(store: Store, actions: Actions) {
  const { area, slice } = store.get();
  if (area) actions.setWindow({ begin: area.begin, end: area.end }, true);
  else if (slice) actions.reveal(slice.slice, true);
}

/** Key names as KeyboardEvent.key gives them, letters in lower case, "Shift+z" with the modifier. */
function table(store: Store, actions: Actions, t: Translate, moves: TimelineMoves): Record<string, () => void> {
  const area = () => actions.areaFromSelection();
  return {
    w: () => moves.zoom(1 / ZOOM_STEP),
    s: () => moves.zoom(ZOOM_STEP),
    a: () => moves.pan(-PAN_PART),
    d: () => moves.pan(PAN_PART),
    ArrowLeft: () => moves.pan(-PAN_PART),
    ArrowRight: () => moves.pan(PAN_PART),
    ArrowUp: () => moves.scroll(-20),
    ArrowDown: () => moves.scroll(20),
    PageUp: () => moves.scroll(-300),
    PageDown: () => moves.scroll(300),
    f: actions.focus,
    "Shift+Z": () => zoomToSelection(store, actions),
    Backspace: actions.undoZoom,
    "Ctrl+0": actions.fit,
    Home: actions.fit,
    ",": () => void actions.neighbour(-1, "lane"),
    ".": () => void actions.neighbour(1, "lane"),
    p: () => void actions.neighbour(-1, "name"),
    n: () => void actions.neighbour(1, "name"),
    "[": () => actions.follow(false),
    "]": () => actions.follow(true),
    u: actions.parent,
    // As users of the ecosystem's viewer know it; without a base there is nothing to align to.
    r: () => {
      const { anchor, slice } = store.get();
      if (anchor && slice && anchor.trace !== slice.slice.trace) actions.alignToAnchor("end");
      else area();
    },
    m: area,
    k: () => actions.mark(moves.time(), t("mark.default", store.get().marks.length + 1)),
    c: moves.fold,
    h: moves.hide,
    "Shift+H": () => store.set({ hidden: [] }),
    t: moves.pin,
    b: actions.setAnchor,
    l: () => actions.alignToAnchor("begin"),
    "Shift+T": moves.pinSame,
    "Shift+ArrowUp": () => moves.cursor(-1),
    "Shift+ArrowDown": () => moves.cursor(1),
    "Shift+PageUp": () => moves.move(-1),
    "Shift+PageDown": () => moves.move(1),
    ContextMenu: moves.menu,
    "Shift+F10": moves.menu,
    q: () => store.set({ drawer: !store.get().drawer }),
    Enter: () => {
      if (store.get().hits) actions.stepHit(1);
      else moves.enter();
    },
    "Shift+Enter": () => actions.stepHit(-1),
  };
}

export function keyName(event: KeyboardEvent): string {
  const modifier =
    (event.ctrlKey || event.metaKey ? "Ctrl+" : "") + (event.shiftKey && event.key.length > 1 ? "Shift+" : "");
  if (event.shiftKey && /^[A-Z]$/.test(event.key)) return `${modifier}Shift+${event.key}`;
  return modifier + event.key;
}

/** Listens until the returned function is called. */
export function timelineKeys(store: Store, actions: Actions, t: Translate, moves: TimelineMoves): () => void {
  const keys = table(store, actions, t, moves);
  const onKey = (event: KeyboardEvent) => {
    const button = event.target instanceof HTMLButtonElement && (event.key === "Enter" || event.key === " ");
    if (event.altKey || isTyping(event.target) || button || store.get().dialog !== "") return;
    const action = keys[keyName(event)];
    if (!action) return;
    event.preventDefault();
    action();
  };
  window.addEventListener("keydown", onKey);
  return () => window.removeEventListener("keydown", onKey);
}
