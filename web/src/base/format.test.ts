import { describe, expect, it } from "vitest";

import {
  formatBytes,
  formatCount,
  formatCounter,
  formatDigits,
  formatDuration,
  formatExact,
  formatMoment,
  formatShare,
} from "./format";

describe("format", () => {
  it("writes durations with the unit that fits", () => {
    expect(formatDuration(0)).toBe("0 ns");
    expect(formatDuration(999)).toBe("999 ns");
    expect(formatDuration(1234)).toBe("1.234 µs");
    expect(formatDuration(12_345_678)).toBe("12.35 ms");
    expect(formatDuration(-2_500_000_000)).toBe("-2.500 s");
    expect(formatDuration(216_000e9)).toBe("2.500 d");
  });
  it("writes moments to the nanosecond", () => {
    expect(formatMoment(159_964_123)).toBe("159.964123 ms");
    expect(formatMoment(-5)).toBe("-0.000005 ms");
  });
  it("writes moments exactly", () => {
    expect(formatExact(1_002_000_003)).toBe("1 s 2 ms 0 µs 3 ns");
    expect(formatExact(5)).toBe("5 ns");
  });
  it("writes values of counters in the unit that ends their name", () => {
    expect(formatCounter("NPU Module RUNTIME B", 96_665_600)).toBe("92.19 MiB");
    expect(formatCounter("APP/Memory KB", 2_160_232)).toBe("2.06 GiB");
    expect(formatCounter("HBM 1/Read Read(MB/s)", 22_348.5)).toBe("22.349 GB/s");
    expect(formatCounter("HBM 1 read B/s", 27_001_323_683)).toBe("27.001 GB/s");
    expect(formatCounter("LLC 1 Read/Hit Rate Hit Rate(%)", 0.664)).toBe("0.664 %");
    expect(formatCounter("AI Core Freq MHz", 1800)).toBe("1\u2009800 MHz");
    expect(formatCounter("allocated_bytes", 2048)).toBe("2.00 KiB");
    expect(formatCounter("QoS OTHERS value", 367_227)).toBe("367\u2009227");
    expect(formatCounter("job", 3)).toBe("3");
  });
  it("writes counts, bytes and shares", () => {
    expect(formatCount(1234567)).toBe("1\u2009234\u2009567");
    expect(formatBytes(1536)).toBe("1.50 KiB");
    expect(formatBytes(12)).toBe("12 B");
    expect(formatShare(0.12345)).toBe("12.35 %");
  });
});

it("keeps the digits that distinguish two values of 32 bits", () => {
  expect([0.176729664, 0.176711991, 1.57044269e-7, 4, -0].map((value) => formatDigits(value))).toEqual([
    "0.176729664",
    "0.176711991",
    "1.57044269e-7",
    "4",
    "0",
  ]);
  expect(formatDigits(0.00001767277, 4)).toBe("0.00001767");
});
