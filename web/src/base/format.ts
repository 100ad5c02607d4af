/** Numbers and times for people. Times are nanoseconds. */

const UNITS: readonly [string, number][] = [
  ["d", 86_400e9],
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
];

/** 1234567 -> "1.235 ms"; four digits that count. */
export function formatDuration(ns: number): string {
  if (ns < 0) return `-${formatDuration(-ns)}`;
  if (ns === 0) return "0 ns";
  for (const [unit, size] of UNITS) {
    if (ns >= size) {
      const value = ns / size;
      const digits = unit === "ns" ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
      return `${value.toFixed(digits)} ${unit}`;
    }
  }
  return `${ns.toFixed(3)} ns`;
}

/** As the ecosystem's viewer writes a moment: "12ms 345us 678ns", leading zero groups dropped. */
export function formatExact(ns: number): string {
  const sign = ns < 0 ? "-" : "";
  let rest = Math.abs(Math.round(ns));
  const parts: string[] = [];
  for (const [unit, size] of [
    ["s", 1e9],
    ["ms", 1e6],
    ["µs", 1e3],
    ["ns", 1],
  ] as const) {
    const value = Math.floor(rest / size);
    rest -= value * size;
    if (value > 0 || parts.length > 0 || unit === "ns") parts.push(`${value} ${unit}`);
  }
  return sign + parts.join(" ");
}

/** A moment in a column: milliseconds to the nanosecond, so that digits stand below each other. */
export function formatMoment(ns: number): string {
  return `${(ns / 1e6).toFixed(6)} ms`;
}

/** 1234567 -> "1 234 567", with thin blanks. */
export function formatCount(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, "\u2009");
}

export function formatBytes(bytes: number): string {
  const sign = bytes < 0 ? "-" : "";
  let value = Math.abs(bytes);
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    ++unit;
  }
  return `${sign}${unit === 0 ? value : value.toFixed(value >= 100 ? 1 : 2)} ${units[unit]}`;
}

/** A share of 1 as percent with two digits. */
export function formatShare(share: number, digits = 2): string {
  return Number.isFinite(share) ? `${(share * 100).toFixed(digits)} %` : "–";
}

/** 1 MiB and more digits are kept: a number of a table, at most three decimals. */
export function formatNumber(value: number): string {
  if (Number.isInteger(value)) return formatCount(value);
  const digits = Number(value.toFixed(Math.abs(value) >= 1000 ? 1 : 3));
  return Number.isInteger(digits) ? formatCount(digits) : String(digits);
}

/** With the digits that distinguish two values of 32 bits, however small they are. */
export const formatDigits = (value: number, digits = 9): string => String(Number(value.toPrecision(digits)));

const COUNTER_UNITS: Record<string, number> = { b: 1, bytes: 1, kb: 2 ** 10, mb: 2 ** 20, gb: 2 ** 30 };

/** A value of a counter, whose unit ends its name: "RUNTIME B", "Read(MB/s)", "Hit Rate(%)". */
export function formatCounter(name: string, value: number): string {
  const [, unit, second] = /(?:^|[ (_])(b|bytes|[kmg]b|%|[kmg]?hz)(\/s)?\)?$/i.exec(name) ?? [];
  if (unit === undefined) return formatNumber(value);
  // Rates are counted in thousands.
  const size = COUNTER_UNITS[unit.toLowerCase()];
  if (size === undefined) return `${formatNumber(value)} ${unit}`;
  if (!second) return formatBytes(value * size);
  const bytes = value * 1000 ** Math.round(Math.log2(size) / 10);
  const [name1000, by] = (
    [
      ["GB", 1e9],
      ["MB", 1e6],
      ["kB", 1e3],
    ] as const
  ).find(([, least]) => bytes >= least) ?? ["B", 1];
  return `${formatNumber(bytes / by)} ${name1000}/s`;
}
