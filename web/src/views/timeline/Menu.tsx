import { type KeyboardEvent, useEffect, useRef } from "react";

import { useApp, useAppState } from "../../app/context";
import type { TextKey } from "../../i18n";
import { type Row, siblingsOf } from "./lanes";

export interface MenuPlace {
  x: number;
  y: number;
  row: Row | null;
}

interface Properties {
  place: MenuPlace;
  rows: readonly Row[];
  width: number;
  height: number;
  onFold: (row: Row) => void;
  onClose: () => void;
}

/** What can be done with the lane and the slice under the mouse, or under the cursor of the keys. */
export function Menu({ place, rows, width, height, onFold, onClose }: Properties) {
  const { store, actions, t } = useApp();
  const slice = useAppState((s) => s.slice);
  const anchor = useAppState((s) => s.anchor);
  const area = useAppState((s) => s.area);
  const hidden = useAppState((s) => s.hidden);
  const pinned = useAppState((s) => s.pinned);
  const offsets = useAppState((s) => s.offsets);
  const session = useAppState((s) => s.session)!;
  const box = useRef<HTMLUListElement>(null);
  useEffect(() => box.current?.querySelector("button")?.focus(), []);
  const { row } = place;
  const track = row ? session.traces[row.trace]?.tracks.find((candidate) => candidate.id === row.track) : undefined;
  const siblings = row ? siblingsOf(rows, row) : [];
  const groups = rows.filter((r) => r.kind === "group" && r.track < 0 && r.key !== "pinned");
  const other = anchor && slice && anchor.trace !== slice.slice.trace;
  const entries: [boolean, TextKey, () => void][] = [
    [true, "key.fit", actions.fit],
    [area !== null, "key.selection", () => actions.setWindow({ begin: area!.begin, end: area!.end }, true)],
    [area === null && slice !== null, "key.selection", () => actions.reveal(slice!.slice, true)],
    [true, "key.undo", actions.undoZoom],
    [row !== null, row?.folded ? "menu.expand" : "menu.collapse", () => onFold(row!)],
    [row !== null && row.track >= 0, row?.pinned ? "menu.unpin" : "menu.pin", () => actions.toggle("pinned", row!.key)],
    [track !== undefined, "menu.pinsame", () => actions.pinSameNamed(track!.name)],
    [pinned.length > 0, "command.unpin", () => store.set({ pinned: [] })],
    [row !== null && row.track >= 0, "menu.hide", () => actions.toggle("hidden", row!.key)],
    [hidden.length > 0, "command.showall", () => store.set({ hidden: [] })],
    [siblings.indexOf(row?.key ?? "") > 0, "menu.up", () => actions.move(row!.key, -1, siblings)],
    [siblings.length > 1 && siblings.at(-1) !== row?.key, "menu.down", () => actions.move(row!.key, 1, siblings)],
    [true, "command.collapse", () => store.set({ folded: groups.map((r) => r.key) })],
    [true, "command.expand", () => store.set({ folded: groups.map((r) => `+${r.key}`) })],
    [
      slice !== null,
      "details.same",
      () => {
        store.set({ search: { text: slice!.slice.name, regex: false, case: true, whole: true, args: false } });
        void actions.search();
      },
    ],
    [slice !== null, "command.anchor", actions.setAnchor],
    [Boolean(other), "menu.alignleft", () => actions.alignToAnchor("begin")],
    [Boolean(other), "menu.alignright", () => actions.alignToAnchor("end")],
    [session.traces.length > 1, "command.alignstarts", actions.alignStarts],
    [slice !== null && session.traces.length > 1, "command.alignleft", () => void actions.alignAll("begin")],
    [slice !== null && session.traces.length > 1, "command.alignright", () => void actions.alignAll("end")],
    [Object.values(offsets).some((by) => by !== 0), "command.offsets", () => void actions.setOffsets({})],
  ];
  const shown = entries.filter(([useful]) => useful);
  const onKey = (event: KeyboardEvent) => {
    const buttons = [...box.current!.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === "Escape" || event.key === "Tab") onClose();
    else if (event.key === "ArrowDown") buttons[(at + 1) % buttons.length]?.focus();
    else if (event.key === "ArrowUp") buttons[(at - 1 + buttons.length) % buttons.length]?.focus();
    else return event.stopPropagation();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <ul
      className="menu"
      role="menu"
      ref={box}
      data-testid="menu"
      onKeyDown={onKey}
      style={{
        left: Math.min(place.x, width - 300),
        top: Math.max(0, Math.min(place.y, height - shown.length * 25 - 12)),
        maxHeight: height,
      }}
    >
      {shown.map(([, text, run], i) => (
        <li key={i} role="none">
          <button
            role="menuitem"
            onClick={() => {
              onClose();
              run();
            }}
          >
            {t(text)}
          </button>
        </li>
      ))}
    </ul>
  );
}
