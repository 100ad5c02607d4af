import { type TextKey, en } from "./en";
import { zh } from "./zh";

export type Language = "en" | "zh";
export type { TextKey };

const texts: Record<Language, Record<TextKey, string>> = { en, zh };

export type Translate = (key: TextKey, ...values: (string | number)[]) => string;

export function translator(language: Language): Translate {
  return (key, ...values) =>
    texts[language][key].replace(/\{(\d)\}/g, (_, i: string) => String(values[Number(i)] ?? ""));
}
