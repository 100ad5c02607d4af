import { Pixels } from "./pixels";
import type { Font, Renderer } from "./renderer";

const FONTS: Record<Font, string> = {
  normal: '12px "Inter", "Segoe UI", "Noto Sans", "Noto Sans CJK SC", system-ui, sans-serif',
  bold: '600 12px "Inter", "Segoe UI", "Noto Sans", "Noto Sans CJK SC", system-ui, sans-serif',
  small: '10.5px "Inter", "Segoe UI", "Noto Sans", "Noto Sans CJK SC", system-ui, sans-serif',
};

/** Widths of letters, so that texts are cut without a call of the canvas for each. */
class Widths {
  private known = new Map<string, number>();
  constructor(private context: CanvasRenderingContext2D) {}
  of(font: Font, text: string): number {
    const key = font + text;
    let width = this.known.get(key);
    if (width === undefined) {
      if (this.known.size > 20_000) this.known.clear();
      this.context.font = FONTS[font];
      width = this.context.measureText(text).width;
      this.known.set(key, width);
    }
    return width;
  }
}

export class Canvas2dRenderer implements Renderer {
  private context: CanvasRenderingContext2D;
  private widths: Widths;
  private picture: Pixels | null = null;

  constructor(private canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d", { alpha: false })!;
    this.widths = new Widths(this.context);
  }

  begin(width: number, height: number): Pixels {
    const ratio = window.devicePixelRatio || 1;
    if (this.picture?.width !== width || this.picture.height !== height || this.picture.ratio !== ratio) {
      this.picture = new Pixels(width, height, ratio);
      this.canvas.width = this.picture.columns;
      this.canvas.height = this.picture.rows;
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return this.picture;
  }

  show(picture: Pixels) {
    const bytes = new Uint8ClampedArray(picture.data.buffer);
    this.context.putImageData(new ImageData(bytes, picture.columns, picture.rows), 0, 0);
  }

  rects(color: string, values: readonly number[]) {
    this.context.fillStyle = color;
    for (let i = 0; i + 3 < values.length; i += 4) {
      this.context.fillRect(values[i]!, values[i + 1]!, values[i + 2]!, values[i + 3]!);
    }
  }

  frame(color: string, x: number, y: number, width: number, height: number, thickness: number) {
    this.context.strokeStyle = color;
    this.context.lineWidth = thickness;
    this.context.setLineDash([]);
    this.context.strokeRect(x, y, width, height);
  }

  line(color: string, points: readonly number[], thickness = 1, dash: readonly number[] = []) {
    if (points.length < 4) return;
    const c = this.context;
    c.strokeStyle = color;
    c.lineWidth = thickness;
    c.setLineDash([...dash]);
    c.beginPath();
    c.moveTo(points[0]!, points[1]!);
    for (let i = 2; i + 1 < points.length; i += 2) c.lineTo(points[i]!, points[i + 1]!);
    c.stroke();
    c.setLineDash([]);
  }

  text(
    color: string,
    text: string,
    x: number,
    y: number,
    width: number,
    font: Font = "normal",
    align: "left" | "right" | "center" = "left",
  ) {
    const shown = this.fit(text, width, font);
    if (shown === "") return;
    const c = this.context;
    c.font = FONTS[font];
    c.fillStyle = color;
    c.textBaseline = "middle";
    c.textAlign = align;
    c.fillText(shown, x, y + 0.5);
  }

  textWidth(text: string, font: Font = "normal"): number {
    return this.widths.of(font, text);
  }

  curve(color: string, x0: number, y0: number, x1: number, y1: number) {
    const c = this.context;
    const bend = Math.max(24, Math.min(120, Math.abs(x1 - x0) / 2));
    c.strokeStyle = color;
    c.fillStyle = color;
    c.lineWidth = 1.5;
    c.setLineDash([]);
    c.beginPath();
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
    c.stroke();
    c.beginPath();
    c.moveTo(x1, y1);
    c.lineTo(x1 - 7, y1 - 3.5);
    c.lineTo(x1 - 7, y1 + 3.5);
    c.fill();
  }

  clip(x: number, y: number, width: number, height: number, draw: () => void) {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    draw();
    this.context.restore();
  }

  /** The text, or its beginning with an ellipsis, or nothing. */
  private fit(text: string, width: number, font: Font): string {
    if (width < 12) return "";
    // The widest letters are below 12 pixels: most texts need no measuring.
    const kept = text.length > 400 ? text.slice(0, 400) : text;
    const full = this.widths.of(font, kept);
    if (full <= width) return kept;
    let count = Math.floor((kept.length * (width - 8)) / full);
    while (count > 0 && this.widths.of(font, kept.slice(0, count)) > width - 8) --count;
    return count < 2 ? "" : `${kept.slice(0, count).trimEnd()}…`;
  }
}
