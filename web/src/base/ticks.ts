/** Where a ruler has its lines: round numbers, at most one each `least` pixels. */
export interface Ticks {
  step: number;
  values: number[];
}

export function roundStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(atLeast, 1e-12)));
  for (const factor of [1, 2, 5, 10]) {
    if (power * factor >= atLeast) return power * factor;
  }
  return power * 10;
}

function multiples(begin: number, end: number, step: number): number[] {
  const values: number[] = [];
  // Counted, not summed: a sum of tenths drifts.
  for (let i = Math.ceil(begin / step); i * step <= end && values.length < 1000; ++i) values.push(i * step);
  return values;
}

/** `smallest`: steps are not finer; times have whole nanoseconds. */
export function ticks(begin: number, end: number, width: number, least = 90, smallest = 1): Ticks {
  const wanted = ((end - begin) / Math.max(width, 1)) * least;
  const step = end > begin && end - begin < 1 ? roundStep(wanted) : Math.max(smallest, roundStep(wanted));
  return { step, values: multiples(begin, end, step) };
}
