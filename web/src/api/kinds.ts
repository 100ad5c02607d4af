// Made from src/capture/kinds.h: `make golden` rewrites it.

/** The family under which a track is shown, by its kind. */
export const FAMILY_OF_KIND: Readonly<Record<string, string>> = {
  thread: "host",
  module: "host",
  python: "host",
  gc: "host",
  collective_work: "communication",
  span: "host",
  stream: "device",
  communication_group: "communication",
  communication_plane: "communication",
  overlap: "overlap",
  counter: "counter",
  api: "api",
  os_runtime: "host",
  device_layer: "host",
  mark: "host",
};
