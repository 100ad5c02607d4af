/** The binary answer of /api/window (src/serve/handlers/window.cc). */
export interface LaneWindow {
  trace: number;
  track: number;
  depth: number;
  begin: Float64Array;
  dur: Float64Array;
  id: Int32Array;
  name: Int32Array;
  count: Uint32Array;
}

const MAGIC = 0x31574453;

export function decodeWindow(buffer: ArrayBuffer): LaneWindow[] {
  const view = new DataView(buffer);
  if (buffer.byteLength < 8 || view.getUint32(0, true) !== MAGIC) {
    throw new Error("the server's answer is not a window");
  }
  const lanes: LaneWindow[] = [];
  let at = 8;
  for (let left = view.getUint32(4, true); left > 0; --left) {
    const n = view.getUint32(at + 12, true);
    const head = {
      trace: view.getInt32(at, true),
      track: view.getInt32(at + 4, true),
      depth: view.getInt32(at + 8, true),
    };
    at += 16;
    const begin = new Float64Array(buffer, at, n);
    const dur = new Float64Array(buffer, at + 8 * n, n);
    at += 16 * n;
    const id = new Int32Array(buffer, at, n);
    const name = new Int32Array(buffer, at + 4 * n, n);
    const count = new Uint32Array(buffer, at + 8 * n, n);
    at += 12 * n + (n % 2) * 4;
    lanes.push({ ...head, begin, dur, id, name, count });
  }
  return lanes;
}
