import type { ComponentType } from "react";

import type { SessionMessage } from "../api/messages";
import type { TextKey } from "../i18n";

/** A page of its own: a folder below views/ and a line in views/list.ts. */
export interface View {
  name: string;
  title: TextKey;
  component: ComponentType;
  /** Has something to show where no trace is open. */
  standsAlone?: boolean;
  /** Has something to show where a lake or a finished result is open, and no trace of it yet. */
  showsMaps?: boolean;
  /** Its tab is shown; all are where this is absent. */
  isUseful?: (session: SessionMessage | null) => boolean;
  /** Its tab stands in a second line, below that of the view of this name. */
  under?: string;
  /** What it is called there, where that is another name. */
  subtitle?: TextKey;
}

/** What the tab of a view leads to, itself first: one where there is no second line. */
export function family(views: readonly View[], of: View): readonly View[] {
  const head = of.under ?? of.name;
  return [...views.filter(({ name }) => name === head), ...views.filter(({ under }) => under === head)];
}
