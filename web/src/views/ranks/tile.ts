/** Which part of a map of many ranks is shown, and what its rows are called. Pure. */
import type { RankTileMessage } from "../../api/messages";

/** Places of ranks and steps; 0 of them: all behind the first. */
export interface TileWindow {
  first: number;
  ranks: number;
  firstStep: number;
  steps: number;
}

export const WHOLE_MAP: TileWindow = { first: 0, ranks: 0, firstStep: 0, steps: 0 };

/** Of the address: "first,ranks,first step,steps". */
export function windowOf(text: string | undefined): TileWindow {
  const [first = 0, ranks = 0, firstStep = 0, steps = 0] = (text ?? "").split(",").map((part) => Number(part) || 0);
  return { first, ranks, firstStep, steps };
}

export const textOf = ({ first, ranks, firstStep, steps }: TileWindow) => [first, ranks, firstStep, steps].join();

/** Around a block, at least so many places. */
const LEAST = 32;

function around(first: number, size: number, total: number): [first: number, count: number] {
  const count = Math.min(total, Math.max(size, LEAST));
  return [Math.max(0, Math.min(total - count, first - Math.floor((count - size) / 2))), count];
}

/** The part that a click on a cell leads to; null where the cell is one step of one rank. */
export function closer(tile: RankTileMessage, now: TileWindow, row: number, column: number): TileWindow | null {
  if (tile.row_size === 1 && tile.column_size === 1) return null;
  const next = { ...now };
  if (tile.row_size > 1)
    [next.first, next.ranks] = around(now.first + row * tile.row_size, tile.row_size, tile.total_ranks);
  if (tile.column_size > 1)
    [next.firstStep, next.steps] = around(
      now.firstStep + column * tile.column_size,
      tile.column_size,
      tile.total_steps,
    );
  return next;
}

const span = (first: number, last: number) => (first === last ? `${first}` : `${first}–${last}`);

/** Ranks, or places where the largest come first. */
export const rowNames = (tile: RankTileMessage, now: TileWindow, isSorted: boolean) =>
  tile.first_ranks.map((first, row) => {
    const begin = now.first + row * tile.row_size + 1;
    const end = Math.min(tile.total_ranks, begin + tile.row_size - 1);
    return isSorted && tile.row_size > 1 ? `# ${span(begin, end)}` : span(first, tile.last_ranks[row]!);
  });

export const columnNames = (tile: RankTileMessage) =>
  tile.first_steps.map((first, column) => (first < 0 ? "–" : span(first, tile.last_steps[column]!)));
