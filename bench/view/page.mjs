/* Frames of scripted use in headless Chromium, and a page that loads a whole trace as JSON.
 *   page.mjs use ADDRESS SECONDS     page.mjs whole FILE
 * Prints one JSON object. WEB is the folder of the page's sources, whose Playwright it takes. */
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(join(process.env.WEB, "package.json"))("playwright-core");
const [what, target, seconds] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
const percentile = (values, share) => [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? NaN;

/** Times between frames of a page that does nothing: the browser's own beat on this machine. */
async function beats() {
  const idle = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  return idle.evaluate(async () => {
    const times = [];
    let last = performance.now();
    for (let i = 0; i < 200; ++i) {
      await new Promise((done) => requestAnimationFrame(done));
      times.push(performance.now() - last);
      last = performance.now();
    }
    return times.slice(10);
  });
}

async function use() {
  const opened = Date.now();
  await page.goto(target);
  await page.getByTestId("timeline").waitFor();
  await page.waitForFunction(() => Number(document.querySelector("[data-testid=timeline]")?.dataset.version) > 1);
  const first = Date.now() - opened;
  const renderer = await page.evaluate(() => {
    const gl = document.createElement("canvas").getContext("webgl2");
    const facts = gl?.getExtension("WEBGL_debug_renderer_info");
    return facts ? gl.getParameter(facts.UNMASKED_RENDERER_WEBGL) : "no WebGL";
  });
  // Wheel as a hand turns it. Of each frame the time since the one before, and what the page's thread did for it:
  // the event, then all from the frame's begin until it is passed on (the channel's message comes behind the painting).
  const measured = await page.evaluate(async (length) => {
    const canvas = document.querySelector("[data-testid=timeline]");
    const box = canvas.getBoundingClientRect();
    const between = [];
    const script = [];
    let last = performance.now();
    const end = last + length;
    for (let i = 0; performance.now() < end; ++i) {
      const phase = Math.floor(i / 60) % 4;
      const common = { bubbles: true, cancelable: true, clientX: box.left + 500 + (i % 300), clientY: box.top + 200 };
      const event =
        phase === 0
          ? { ...common, deltaY: -25, ctrlKey: true }
          : phase === 2
            ? { ...common, deltaY: 25, ctrlKey: true }
            : { ...common, deltaX: phase === 1 ? 18 : -18 };
      const begin = performance.now();
      canvas.dispatchEvent(new WheelEvent("wheel", event));
      const handled = performance.now() - begin;
      await new Promise((done) => requestAnimationFrame(done));
      const frame = performance.now();
      await new Promise((done) => {
        const channel = new MessageChannel();
        channel.port1.onmessage = done;
        channel.port2.postMessage(0);
      });
      script.push(handled + performance.now() - frame);
      between.push(frame - last);
      last = frame;
    }
    return { between: between.slice(10), script: script.slice(10) };
  }, Number(seconds) * 1000);
  const { between, script } = measured;
  const empty = percentile(await beats(), 0.95);
  return {
    first,
    renderer,
    empty,
    p50: percentile(between, 0.5),
    p95: percentile(between, 0.95),
    // A screen shows a picture every 16.7 ms.
    late: between.filter((time) => time > 25).length / between.length,
    script: percentile(script, 0.95),
    frames: between.length,
  };
}

/* As chrome://tracing does: the text into memory, JSON.parse, then events sorted by thread. */
async function whole() {
  const server = createServer((request, answer) => {
    if (request.url !== "/trace") return answer.end("<!doctype html><title>whole</title>");
    answer.setHeader("Content-Length", statSync(target).size);
    createReadStream(target).pipe(answer);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const text = await Promise.race([
    page
      .evaluate(async () => {
        const begin = performance.now();
        const parsed = JSON.parse(await (await fetch("/trace")).text());
        const threads = new Map();
        for (const event of parsed.traceEvents ?? parsed) {
          const key = `${event.pid}/${event.tid}`;
          if (!threads.has(key)) threads.set(key, []);
          threads.get(key).push(event);
        }
        for (const events of threads.values()) events.sort((a, b) => Number(a.ts) - Number(b.ts));
        const took = ((performance.now() - begin) / 1000).toFixed(1);
        return `${took} s, ${(performance.memory.usedJSHeapSize / 1e6).toFixed(0)} MB of memory, nothing drawn yet`;
      })
      .catch((error) => `fails: ${String(error.message).split("\n")[0]}`),
    new Promise((done) => page.on("crash", () => done("fails: the page crashes"))),
  ]);
  server.close();
  server.closeAllConnections();
  return { text };
}

console.log(JSON.stringify(what === "use" ? await use() : await whole()));
await browser.close();
