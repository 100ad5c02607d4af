import { type Dispatch, type SetStateAction, useEffect, useState } from "react";

import { useApp } from "../../app/context";

/** How far down the lanes are scrolled; part of a link when the hand rests. */
export function useScroll(): [number, Dispatch<SetStateAction<number>>] {
  const { store } = useApp();
  const [scroll, setScroll] = useState(() => Number(store.get().detail["top"]) || 0);
  useEffect(() => {
    const timer = setTimeout(() => {
      const detail = { ...store.get().detail };
      const text = scroll > 0 ? String(Math.round(scroll)) : undefined;
      if (detail["top"] === text) return;
      if (text === undefined) delete detail["top"];
      else detail["top"] = text;
      store.set({ detail });
    }, 300);
    return () => clearTimeout(timer);
  }, [store, scroll]);
  return [scroll, setScroll];
}
