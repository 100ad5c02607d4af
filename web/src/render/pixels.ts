/** A picture that is filled pixel by pixel: tens of thousands of small bars cost the copying of their
 * rows. Coordinates are CSS pixels, snapped to those of the screen; what lies outside is cut. */
export class Pixels {
  readonly columns: number;
  readonly rows: number;
  readonly data: Uint32Array<ArrayBuffer>;
  private line: Uint32Array<ArrayBuffer>;

  constructor(
    readonly width: number,
    readonly height: number,
    readonly ratio = 1,
  ) {
    this.columns = Math.max(1, Math.round(width * ratio));
    this.rows = Math.max(1, Math.round(height * ratio));
    this.data = new Uint32Array(this.columns * this.rows);
    this.line = new Uint32Array(this.columns);
  }

  fill(color: number, x: number, y: number, width: number, height: number) {
    const [left, right] = this.span(x, x + width, this.columns);
    const [top, bottom] = this.span(y, y + height, this.rows);
    for (let row = top; row < bottom && left < right; ++row) {
      this.data.fill(color, row * this.columns + left, row * this.columns + right);
    }
  }

  /** One row of bars, `height` high: `paint` fills a line that holds what is there at its top. */
  strip(y: number, height: number, paint: (line: Uint32Array) => void) {
    const [top, bottom] = this.span(y, y + height, this.rows);
    if (top >= bottom) return;
    const at = top * this.columns;
    this.line.set(this.data.subarray(at, at + this.columns));
    paint(this.line);
    for (let row = top; row < bottom; ++row) this.data.set(this.line, row * this.columns);
  }

  private span(from: number, to: number, most: number): [number, number] {
    const begin = Math.round(from * this.ratio);
    return [Math.min(most, Math.max(0, begin)), Math.min(most, Math.max(0, Math.round(to * this.ratio)))];
  }
}

const known = new Map<string, number>();

/** "#rrggbb" as the pixels of a picture hold it (red in the lowest byte), opaque. */
export function packed(color: string): number {
  let value = known.get(color);
  if (value === undefined) {
    const part = (at: number) => parseInt(color.slice(at, at + 2), 16);
    value = ((255 << 24) | (part(5) << 16) | (part(3) << 8) | part(1)) >>> 0;
    known.set(color, value);
  }
  return value;
}

/** The colour between two. */
export function between(a: number, b: number): number {
  const channel = (shift: number) => ((((a >>> shift) & 255) + ((b >>> shift) & 255)) >> 1) << shift;
  return ((255 << 24) | channel(16) | channel(8) | channel(0)) >>> 0;
}
