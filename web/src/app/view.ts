import type { ComponentType } from "react";

import type { TextKey } from "../i18n";

/** A page of its own: a folder below views/ and a line in views/list.ts. */
export interface View {
  name: string;
  title: TextKey;
  component: ComponentType;
}
