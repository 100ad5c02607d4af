/** A canvas as large as its place on the screen, filled with the background, to draw on in CSS pixels.
 *  `font` is CSS; texts stand on the middle of their line. */
export function emptied(canvas: HTMLCanvasElement, background: string, font: string) {
  const ratio = globalThis.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d", { alpha: false })!;
  context.scale(ratio, ratio);
  context.fillStyle = background;
  context.fillRect(0, 0, width, height);
  context.font = font;
  context.textBaseline = "middle";
  return { context, width, height };
}
