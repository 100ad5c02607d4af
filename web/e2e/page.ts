/** Starts the built program and Debian's Chromium for a test file; screenshots go to build/. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { type Browser, type Page, chromium } from "playwright-core";

const root = resolve(import.meta.dirname, "../..");
const build = join(root, "build", process.env["PRESET"] ?? "dev");
const shots = join(build, "screenshots");
export const binary = process.env["SONDE_BINARY"] ?? join(build, "bin", "sonde");

/** The folder of other tools' data; "" where it is absent: such tests are skipped. */
export function sharedData(): string {
  const folder = process.env["SONDE_SHARED_DATA"] ?? resolve(root, "../shared/data");
  return existsSync(folder) ? folder : "";
}

export class Opened {
  errors: string[] = [];
  constructor(
    private server: ChildProcess,
    private browser: Browser,
    private cache: string,
    public page: Page,
    /** Without the token, which the first page turns into a cookie. */
    public address: string,
    private token: string,
    /** The state that it begins with. */
    public hash = "",
  ) {
    page.on("pageerror", (error) => this.errors.push(error.message));
  }

  /** As it was printed. */
  get link() {
    return this.address + this.token;
  }

  /** Opens the page at this state, and sees that it is ours: a build without the page answers too. */
  async go(hash = "") {
    await this.page.goto("about:blank");
    await this.page.goto(this.address + this.token + (hash ? `#${hash}` : ""));
    await this.page.locator("nav [aria-current=page]").waitFor();
  }

  /** The state as a link has it now: the address follows a moment behind (app/history.ts). */
  async state(): Promise<string> {
    await this.page.evaluate(() => new Promise((done) => setTimeout(done, 300)));
    return this.page.url().split("#")[1] ?? "";
  }

  /** Waits until all traces have been read: what is asked from then on is asked of all. */
  async read() {
    for (;;) {
      const answer = await this.page.request.get(`${this.address}api/session${this.token}`);
      if (!((await answer.json()) as { loading: boolean }).loading) return;
      await this.page.waitForTimeout(100);
    }
  }

  /** Waits until the page has not changed for a while: its answers have come, and the frame is drawn. */
  async settle() {
    await this.page.waitForLoadState("domcontentloaded");
    let before = "";
    for (let still = 0; still < 2;) {
      await this.page.waitForTimeout(250);
      const now = await this.page.evaluate(() => document.body.innerHTML);
      still = now === before ? still + 1 : 0;
      before = now;
    }
  }

  /** Moves the mouse to the middle of a cell of a CellMap; its place in the window. */
  async pointAt(testId: string, row: number, column: number): Promise<[number, number]> {
    const map = this.page.getByTestId(testId);
    const [left, top, width, height] = (await map.getAttribute("data-layout"))!.split(" ").map(Number) as number[];
    const box = (await map.boundingBox())!;
    const at: [number, number] = [
      box.x + left! + (column + 0.5) * width!,
      box.y + top! + (row + 0.5) * height! - (await map.evaluate((element) => element.scrollTop)),
    ];
    await this.page.mouse.move(...at);
    return at;
  }

  async shot(name: string) {
    mkdirSync(shots, { recursive: true });
    await this.page.screenshot({ path: join(shots, `${name}.png`) });
  }

  async close() {
    // A question that a test still holds is not answered any more; that is no error of its.
    await this.page.unrouteAll({ behavior: "ignoreErrors" });
    await this.browser.close();
    const ended = new Promise((done) => this.server.once("exit", done));
    this.server.kill("SIGTERM");
    await ended;
    rmSync(this.cache, { recursive: true, force: true });
  }
}

function firstLine(server: ChildProcess): Promise<string> {
  return new Promise((done, fail) => {
    let text = "";
    server.stdout!.on("data", (piece: Buffer) => {
      text += piece.toString();
      if (text.includes("\n")) done(text.split("\n")[0]!);
    });
    server.once("exit", (code) => fail(new Error(`sonde view ended with ${code}`)));
  });
}

/** The page of `npx vite build`, in place of the one that the program holds: no C++ is built for a change. */
async function useBuilt(page: Page, folder: string) {
  const types = { "": "text/html", "app.js": "text/javascript", "app.css": "text/css" };
  await page.route(/:\d+\/(app\.js|app\.css)?(\?.*)?$/, (route) => {
    const name = new URL(route.request().url()).pathname.slice(1) as keyof typeof types;
    return route.fulfill({ path: join(folder, name || "index.html"), contentType: types[name] });
  });
}

export async function open(...paths: string[]): Promise<Opened> {
  const cache = mkdtempSync(join(tmpdir(), "sonde-page-"));
  const server = spawn(binary, ["view", ...paths], {
    env: { ...process.env, XDG_CACHE_HOME: cache },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [printed, hash] = (await firstLine(server)).split("#") as [string, string?];
  const question = printed.indexOf("?");
  const browser = await chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  const page = await browser.newPage({ viewport: { width: 1500, height: 900 }, locale: "en-US", colorScheme: "light" });
  if (process.env["SONDE_PAGE"]) {
    await page.request.get(printed); // for the cookie, which the server gives with its own page
    await useBuilt(page, process.env["SONDE_PAGE"]);
  }
  return new Opened(server, browser, cache, page, printed.slice(0, question), printed.slice(question), hash);
}
