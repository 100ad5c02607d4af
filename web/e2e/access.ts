/** What the tests of access look at; all run in the page. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds wrong: the rule, and where. */
export async function axeFinds(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(
    // Contrast is looked at by faintTexts, on what is really drawn below a text.
    () =>
      (window as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({
        rules: { "color-contrast": { enabled: false } },
      }),
  );
  return violations.flatMap(({ id, nodes }) => nodes.slice(0, 3).map((node) => `${id}: ${node.html.slice(0, 140)}`));
}

/** Texts in view that stand out less than 4.5 to 1 from what they are written on. */
export function faintTexts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;
    type Color = [number, number, number, number];
    const parse = (text: string): Color => {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = text;
      context.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
      return [r!, g!, b!, a! / 255];
    };
    const over = (top: Color, below: Color): Color => {
      const channel = (i: 0 | 1 | 2) => top[i] * top[3] + below[i] * (1 - top[3]);
      return [channel(0), channel(1), channel(2), 1];
    };
    const luminance = (color: Color) => {
      const [r, g, b] = color.map((value) => {
        const part = value / 255;
        return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
    };
    const above = (element: Element) => {
      const list: Element[] = [];
      for (let at: Element | null = element; at; at = at.parentElement) list.push(at);
      return list;
    };
    const ground = (element: Element) =>
      above(element)
        .map((at) => parse(getComputedStyle(at).backgroundColor))
        .reduceRight((below, top) => over(top, below), [255, 255, 255, 1] as Color);
    const found: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement!;
      const text = node.textContent!.trim();
      if (text === "" || element.closest("script, style, option, :disabled")) continue;
      const range = document.createRange();
      range.selectNode(node);
      const box = range.getBoundingClientRect();
      if (box.width < 1 || box.bottom < 0 || box.top > innerHeight || box.right < 0 || box.left > innerWidth) continue;
      const below = ground(element);
      const style = getComputedStyle(element);
      const color = parse(element instanceof SVGElement ? style.fill : style.color);
      const opacity = above(element).reduce((product, at) => product * Number(getComputedStyle(at).opacity), 1);
      const drawn = over([color[0], color[1], color[2], color[3] * opacity], below);
      const [low, high] = [luminance(drawn), luminance(below)].sort((a, b) => a - b) as [number, number];
      const contrast = (high + 0.05) / (low + 0.05);
      if (contrast < 4.5) found.push(`${contrast.toFixed(2)} ${text.slice(0, 40)}`);
    }
    return found;
  });
}

/** Goes through the page with Tab until it starts again: what was never reached, what does not show that
 * it is, and what has no name. */
export async function walkByTab(page: Page): Promise<string[]> {
  const all = await page.evaluate(() => {
    const stops = [
      ...document.querySelectorAll<HTMLElement>("button, input, select, textarea, summary, [tabindex='0']"),
    ];
    const open = stops.filter((stop) => stop.checkVisibility() && !stop.matches(":disabled") && !inClosed(stop));
    function inClosed(stop: HTMLElement) {
      const details = stop.closest("details");
      return details !== null && !details.open && !stop.matches("summary");
    }
    open.forEach((stop, i) => (stop.dataset["stop"] = String(i)));
    return open.length;
  });
  const wrong: string[] = [];
  const reached = new Set<string>();
  for (let i = 0; i < all + 5; ++i) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const element = document.activeElement as HTMLElement;
      if (element === document.body) return null;
      const style = getComputedStyle(element);
      const labels = (element as HTMLInputElement).labels;
      const name = element.getAttribute("aria-label") ?? (labels?.[0]?.textContent || element.textContent);
      return {
        stop: element.dataset["stop"] ?? "",
        name: name.trim(),
        place: `${element.tagName} ${element.className} ${name}`.slice(0, 60),
        isSeen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1,
      };
    });
    if (!at || reached.has(at.stop)) continue;
    reached.add(at.stop);
    if (!at.isSeen) wrong.push(`focus is not seen: ${at.place}`);
    if (at.name === "") wrong.push(`has no name: ${at.place}`);
  }
  const missed = await page.evaluate(
    (stops) =>
      [...document.querySelectorAll<HTMLElement>("[data-stop]")]
        .filter((stop) => !stops.includes(stop.dataset["stop"]!))
        .map((stop) => `not reached: ${stop.tagName} ${stop.className} ${stop.textContent}`.slice(0, 60)),
    [...reached],
  );
  return [...wrong, ...missed];
}
