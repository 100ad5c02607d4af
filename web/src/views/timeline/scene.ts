/** What the timeline is drawn from, and the measures (CSS pixels) that its painters share. */
import type { SessionMessage, SliceMessage, SliceRefMessage } from "../../api/messages";
import type { Theme } from "../../theme/themes";
import type { Area, Mark } from "../../app/state";
import type { Feed } from "./feed";
import type { Row } from "./lanes";
import type { TimeWindow } from "./viewport";

/** Width of the names left of the lanes. */
export const GUTTER = 230;
/** Height of the axis above them. */
export const RULER = 26;

export interface Scene {
  theme: Theme;
  width: number;
  height: number;
  scroll: number;
  window: TimeWindow;
  zero: number;
  rows: readonly Row[];
  /** Height of those that stay in view: the first of them. */
  stuck: number;
  /** Also those that are scrolled away: arrows lead there. */
  allRows: readonly Row[];
  feed: Feed;
  session: SessionMessage;
  slice: SliceMessage | null;
  area: Area | null;
  marks: readonly Mark[];
  hits: readonly SliceRefMessage[];
  hit: SliceRefMessage | null;
  hoverName: string;
  pointer: { x: number; y: number } | null;
  /** The lane that keys act on. */
  cursor: string;
  anchor: SliceRefMessage | null;
}

/** Where a slice of a trace ends that had not ended: with all that is known of the trace. */
export function openEnd(session: SessionMessage, trace: number, begin: number): number {
  return Math.max(begin, session.traces[trace]?.end ?? begin);
}
