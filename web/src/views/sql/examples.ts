/** Statements that answer what is often asked; each runs on every trace. */
export const examples: readonly string[] = [
  "SELECT name, count(*) AS count, sum(dur) AS total_ns FROM slice GROUP BY name ORDER BY total_ns DESC LIMIT 100",
  "SELECT slice_id, name, ts, dur FROM slice ORDER BY dur DESC LIMIT 100",
  "SELECT name, approx_quantile(dur, 0.5) AS median_ns, approx_quantile(dur, 0.99) AS p99_ns, max(dur) AS max_ns FROM slice GROUP BY name ORDER BY p99_ns DESC LIMIT 100",
  "SELECT (ts - (SELECT min(ts) FROM slice)) // 1000000 AS ms, count(*) AS slices FROM slice GROUP BY ms ORDER BY ms",
  "SELECT a.name AS launched_by, count(*) AS tasks, sum(d.dur) AS device_ns FROM device_task d JOIN slice a ON a.slice_id = d.launch_slice_id GROUP BY a.name ORDER BY device_ns DESC LIMIT 100",
];
