import { type Dispatch, type SetStateAction, useEffect, useState } from "react";

import { useApp } from "../../app/context";

/** How far down the lanes are scrolled, kept as `key`; part of a link when the hand rests. */
export function useScroll(key: string): [number, Dispatch<SetStateAction<number>>] {
  const { store } = useApp();
  const [scroll, setScroll] = useState(() => Number(store.get().detail[key]) || 0);
  useEffect(() => {
    const timer = setTimeout(() => {
      const detail = { ...store.get().detail };
      const text = scroll > 0 ? String(Math.round(scroll)) : undefined;
      if (detail[key] === text) return;
      if (text === undefined) delete detail[key];
      else detail[key] = text;
      store.set({ detail });
    }, 300);
    return () => clearTimeout(timer);
  }, [store, key, scroll]);
  return [scroll, setScroll];
}
