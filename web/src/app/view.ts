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
  /** Its tab is shown; all are where this is absent. */
  isUseful?: (session: SessionMessage | null) => boolean;
}
