import { createContext, useContext } from "react";

import type { Translate } from "../i18n";
import type { Theme } from "../theme/themes";
import type { Actions } from "./actions";
import { type State, type Store, useStore } from "./state";

export interface App {
  store: Store;
  actions: Actions;
  t: Translate;
  theme: Theme;
}

export const AppContext = createContext<App | null>(null);

export function useApp(): App {
  return useContext(AppContext)!;
}

export function useAppState<T>(pick: (state: State) => T): T {
  return useStore(useApp().store, pick);
}
