import { useApp, useAppState } from "../../app/context";

/** A part of the address that only this view has: "" where it is not set. */
export function useDetail(name: string): [string, (value: string) => void] {
  const { store } = useApp();
  const value = useAppState((s) => s.detail[name] ?? "");
  return [value, (next) => store.set({ detail: { ...store.get().detail, [name]: next } })];
}
