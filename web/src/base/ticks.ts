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

export function ticks(begin: number, end: number, width: number, least = 90): Ticks {
  const step = Math.max(1, roundStep(((end - begin) / Math.max(width, 1)) * least));
  const values: number[] = [];
  for (let value = Math.ceil(begin / step) * step; value <= end; value += step) values.push(value);
  return { step, values };
}
