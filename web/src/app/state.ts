/** What the user sees and chose, in one place; all of it is in the address (address.ts). */
import { useSyncExternalStore } from "react";

import type { SessionMessage, SliceListMessage, SliceMessage, SliceRefMessage } from "../api/messages";
import type { Language } from "../i18n";
import type { ThemeName } from "../theme/themes";

export interface Mark {
  begin: number;
  end: number;
  name: string;
  /** Index into the theme's bars. */
  color: number;
}

export interface Area {
  begin: number;
  end: number;
  lanes: { trace: number; track: number }[];
}

export interface SearchOptions {
  text: string;
  regex: boolean;
  case: boolean;
  whole: boolean;
  args: boolean;
}

export type Panel = "details" | "area" | "flame" | "search" | "marks";

/** The part that a link holds. */
export interface Place {
  view: string;
  window: { begin: number; end: number } | null;
  selection: { trace: number; id: number } | null;
  area: Area | null;
  folded: string[];
  pinned: string[];
  hidden: string[];
  /** Keys of lanes and traces that the user put in an order of her own. */
  order: string[];
  /** Nanoseconds that a trace is shown later than it was, by trace id. */
  offsets: Record<number, number>;
  marks: Mark[];
  search: SearchOptions;
  panel: Panel;
  drawer: boolean;
  theme: ThemeName;
  language: Language;
  /** What a view other than the timeline remembers: its table, rank, filter, statement. */
  detail: Record<string, string>;
}

export interface State extends Place {
  session: SessionMessage | null;
  gone: boolean;
  slice: SliceMessage | null;
  hits: SliceListMessage | null;
  hit: number;
  error: string;
  dialog: "" | "help" | "palette" | "traces" | "open";
  /** The slice that others are aligned to. */
  anchor: SliceRefMessage | null;
  /** The lane that keys act on where the mouse is not over one. */
  cursor: string;
}

export const startPlace: Place = {
  view: "timeline",
  window: null,
  selection: null,
  area: null,
  folded: [],
  pinned: [],
  hidden: [],
  order: [],
  offsets: {},
  marks: [],
  search: { text: "", regex: false, case: false, whole: false, args: false },
  panel: "details",
  drawer: false,
  theme: "light",
  language: "en",
  detail: {},
};

export class Store {
  private listeners = new Set<() => void>();
  constructor(private state: State) {}

  get = (): State => this.state;

  set = (change: Partial<State>): void => {
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener();
  };

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
}

export function startState(place: Place): State {
  return {
    ...place,
    session: null,
    gone: false,
    slice: null,
    hits: null,
    hit: -1,
    error: "",
    dialog: "",
    anchor: null,
    cursor: "",
  };
}

export function useStore<T>(store: Store, pick: (state: State) => T): T {
  return useSyncExternalStore(store.subscribe, () => pick(store.get()));
}
