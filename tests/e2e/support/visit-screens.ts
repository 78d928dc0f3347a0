import { readFileSync } from "node:fs";
import type { CDPSession, Page } from "playwright-core";
import type { Portal } from "./portal.ts";

/** Screens that only make sense with a token in their address. */
const NOT_VISITED = ["/app/reset-password", "/app/setup", "/app/invite", "/app/sign-up", "/app/sign-in", "/device"];

/** Every screen with an address of its own; parameters get a value of the demo workspace. */
export async function screenPaths({ gateway }: Pick<Portal, "gateway">): Promise<string[]> {
  const { data: requests } = await gateway.manage("GET", "/workspaces/demo/requests?limit=1");
  const values: Readonly<Record<string, string>> = {
    workspace: "demo",
    client: "claude-code",
    creator: "mistral",
    name: "mistral-small-2506",
    slug: "scaleway",
    id: String(requests[0]?.id ?? "none"),
    router: "auto",
  };
  const { data: models } = await gateway
    .manage("GET", "/workspaces/demo/policy")
    .then(() => gateway.call("", "/v1/public/models?limit=1").then(({ body }) => body));
  const [creator = "", ...name] = String(models[0]?.id ?? "").split("/");
  const filled = { ...values, creator, name: name.join("/") };
  return declaredPaths()
    .filter((path) => !NOT_VISITED.includes(path) && !path.includes("$router"))
    .map((path) => path.replace(/\$(\w+)/g, (_, part: string) => encodeURIComponent(Reflect.get(filled, part) ?? "")))
    .filter((path, at, all) => all.indexOf(path) === at);
}

/** Read from the source: its components cannot be imported here. */
function declaredPaths(): string[] {
  const source = readFileSync(new URL("../../../portal/src/screens.ts", import.meta.url), "utf8");
  const workspace = /const W = "([^"]+)"/.exec(source)?.[1] ?? "";
  return [...source.matchAll(/\{ path: (?:"([^"]+)"|`\$\{W\}([^`]*)`|(W)\b)/g)].map(
    ([, literal, below]) => literal ?? `${workspace}${below ?? ""}`,
  );
}

/**
 * Skeletons are blocks; other elements breathe too. Since when the screen shows its content and nothing loads; undefined
 * while it does not. A check on every frame would make the browser draw sixty frames a second of a page at rest.
 */
const READY_SCRIPT = `(() => {
  const isReady = () =>
    document.querySelector("main h1, main h2, h1") !== null &&
    document.querySelector(':not(button)[aria-busy="true"], .block[class*="breathe"]') === null;
  const check = () => {
    window.__readySince = isReady() ? (window.__readySince ?? performance.now()) : undefined;
  };
  window.__checkReady = check;
  new MutationObserver(check).observe(document, {
    subtree: true,
    childList: true,
    attributeFilter: ["aria-busy", "class"],
  });
})();`;

/** The portal's router has loaded what the address says; a screen that was there already changes nothing. */
const HAS_ARRIVED = `(({ status, resolvedLocation }) => {
  const hasArrived = status === "idle" && resolvedLocation !== window.__left;
  if (hasArrived) window.__checkReady();
  return hasArrived;
})(window.__TSR_ROUTER__.state)`;

export type ScreenVisit = {
  readonly path: string;
  /** From the start of the navigation. */
  readonly readyMs: number;
  /** Of API responses, as they were on the wire. */
  readonly apiBytes: number;
  readonly largest: string;
};

const QUIET_MS = 400;
const isApi = (url: string) => /^https?:\/\/[^/]+\/(?:manage|v1)\//.test(url);

/** Loads screens one after the other in one page and measures each. */
export class ScreenVisitor {
  readonly #page: Page;
  readonly #origin: string;
  readonly #open = new Set<string>();
  #responses = new Map<string, { readonly url: string; bytes: number }>();
  /** The most that a URL has cost: a response from the browser's cache costs nothing on the wire. */
  readonly #bytesOf = new Map<string, number>();
  #lastChangeMs = 0;

  private constructor(page: Page, origin: string) {
    this.#page = page;
    this.#origin = origin;
  }

  static async create(page: Page, origin: string): Promise<{ visitor: ScreenVisitor; session: CDPSession }> {
    const visitor = new ScreenVisitor(page, origin);
    const session = await page.context().newCDPSession(page);
    await session.send("Network.enable");
    await page.addInitScript(READY_SCRIPT);
    session.on("Network.requestWillBeSent", ({ requestId, request }) => {
      if (!isApi(request.url)) return;
      visitor.#open.add(requestId);
      visitor.#responses.set(requestId, { url: request.url, bytes: 0 });
      visitor.#lastChangeMs = performance.now();
    });
    session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      const response = visitor.#responses.get(requestId);
      if (response !== undefined) response.bytes = visitor.#weigh(response.url, encodedDataLength);
      visitor.#end(requestId);
    });
    session.on("Network.loadingFailed", ({ requestId }) => visitor.#end(requestId));
    return { visitor, session };
  }

  #weigh(url: string, wireBytes: number): number {
    const bytes = Math.max(wireBytes, this.#bytesOf.get(url) ?? 0);
    this.#bytesOf.set(url, bytes);
    return bytes;
  }

  #end(requestId: string): void {
    if (this.#open.delete(requestId)) this.#lastChangeMs = performance.now();
  }

  async visit(path: string): Promise<ScreenVisit> {
    this.#responses = new Map();
    this.#open.clear();
    await this.#page.goto(`${this.#origin}${path}`, { waitUntil: "commit" });
    const readyMs = await this.#ready();
    const responses = [...this.#responses.values()].toSorted((a, b) => b.bytes - a.bytes);
    const apiBytes = responses.reduce((sum, { bytes }) => sum + bytes, 0);
    const [first] = responses;
    const largest = first === undefined ? "–" : `${new URL(first.url).pathname}${new URL(first.url).search}`;
    return { path, readyMs, apiBytes, largest };
  }

  /** Goes to another screen as a link does, without loading the portal again. */
  async navigate(path: string): Promise<void> {
    await this.#page.evaluate(`(() => {
      window.__readySince = undefined;
      window.__left = window.__TSR_ROUTER__.state.resolvedLocation;
      history.pushState({}, "", ${JSON.stringify(path)});
    })()`);
    while ((await this.#page.evaluate(HAS_ARRIVED)) !== true) await this.#page.waitForTimeout(50);
    await this.#ready();
  }

  async #ready(): Promise<number> {
    for (;;) {
      await this.#page.waitForTimeout(50);
      const since: unknown = await this.#page.evaluate("window.__readySince ?? null");
      const isQuiet = this.#open.size === 0 && performance.now() - this.#lastChangeMs > QUIET_MS;
      if (typeof since === "number" && isQuiet) return since;
    }
  }
}
