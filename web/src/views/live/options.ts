/** The body of POST /start_profile (docs/reference/recorder.md) from what was chosen. Pure. */

export const LEVELS = ["Level0", "Level1", "Level2", "Level_none"] as const;
export type Level = (typeof LEVELS)[number];

export const SWITCHES = ["record_shapes", "with_stack", "profile_memory", "with_modules"] as const;
export type Switch = (typeof SWITCHES)[number];

export function optionsOf(level: Level, switches: ReadonlySet<string>): Record<string, unknown> {
  const body: Record<string, unknown> = { experimental_config: { _profiler_level: level } };
  for (const name of SWITCHES) body[name] = switches.has(name);
  return body;
}
