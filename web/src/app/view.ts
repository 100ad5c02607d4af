import type { ComponentType } from "react";

import type { SessionMessage } from "../api/messages";
import type { TextKey } from "../i18n";
import { hasNoTrace } from "./traces";

/** A page of its own: a folder below views/ and a line in views/list.ts. */
export interface View {
  name: string;
  title: TextKey;
  component: ComponentType;
  /** Has something to show where no trace is open. */
  standsAlone?: boolean;
  /** Has something to show where a lake or a finished result is open, and no trace of it yet. */
  showsMaps?: boolean;
  /** Shows tables that are no trace's: only such views have tabs where no trace is open but a comparison of values. */
  needsNoTrace?: boolean;
  /** Its tab is shown; all are where this is absent. */
  isUseful?: (session: SessionMessage | null) => boolean;
  /** Its tab stands in a second line, below that of the view of this name. */
  under?: string;
  /** What it is called there, where that is another name. */
  subtitle?: TextKey;
}

/** Whether it has a tab. */
export const hasTab = (view: View, session: SessionMessage | null): boolean =>
  (view.needsNoTrace === true || !hasNoTrace(session)) && (view.isUseful?.(session) ?? true);

/** The view of that name; where it could show nothing of what is open, the first that can. */
export function shownView(views: readonly View[], name: string, session: SessionMessage | null): View {
  const wanted = views.find((view) => view.name === name) ?? views[0]!;
  if (wanted.needsNoTrace || wanted.standsAlone || !hasNoTrace(session)) return wanted;
  return views.find((view) => view.needsNoTrace && hasTab(view, session)) ?? wanted;
}

/** What the tab of a view leads to, itself first: one where there is no second line. */
export function family(views: readonly View[], of: View): readonly View[] {
  const head = of.under ?? of.name;
  return [...views.filter(({ name }) => name === head), ...views.filter(({ under }) => under === head)];
}
