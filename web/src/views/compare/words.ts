/** The words for cells of a comparison's tables: the server has them in the language of the page. */
import type { ComparisonMessage } from "../../api/messages";

export type Table = ComparisonMessage["tables"][number];
export type Word = (cell: unknown) => string;

/** Names that are the same everywhere, as TTFT, stay. */
export function wordsOf({ words }: Pick<ComparisonMessage, "words">): Word {
  const texts = new Map(words.map(({ cell, text }) => [cell, text]));
  return (cell) => texts.get(String(cell)) ?? String(cell);
}
