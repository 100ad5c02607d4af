import type { Pixels } from "./pixels";

/** What the timeline needs of a drawing surface. Units: CSS pixels. */
export interface Renderer {
  /** Begins a frame of this size: the picture that is to be filled first. */
  begin(width: number, height: number): Pixels;
  /** Shows the picture; all that follows comes on top of it. */
  show(picture: Pixels): void;
  /** Rectangles of one colour: x, y, width, height after another. */
  rects(color: string, values: readonly number[]): void;
  frame(color: string, x: number, y: number, width: number, height: number, thickness: number): void;
  line(color: string, points: readonly number[], thickness?: number, dash?: readonly number[]): void;
  /** Text whose middle is at y; cut to `width`. */
  text(
    color: string,
    text: string,
    x: number,
    y: number,
    width: number,
    font?: Font,
    align?: "left" | "right" | "center",
  ): void;
  /** How wide it would be, uncut. */
  textWidth(text: string, font?: Font): number;
  curve(color: string, x0: number, y0: number, x1: number, y1: number): void;
  clip(x: number, y: number, width: number, height: number, draw: () => void): void;
}

export type Font = "normal" | "bold" | "small";
