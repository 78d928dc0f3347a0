import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";

type Cookies = Parameters<BrowserContext["addCookies"]>[0];

export type PageLease = {
  readonly context: BrowserContext;
  readonly page: Page;
  giveBack(): Promise<void>;
  /** For a page in an unknown state. */
  discard(): Promise<void>;
};

type Opened = Pick<PageLease, "context" | "page">;

const VIEWPORT = { width: 1280, height: 800 };
/** Without motion nothing is drawn while a test waits. */
const MEDIA = { colorScheme: "light", reducedMotion: "reduce" } as const;
const DEFAULTS = { locale: "en-GB", timezoneId: "Europe/Brussels", viewport: VIEWPORT, ...MEDIA };
const TIMEOUT_MS = 20_000;
const LEAVE_MS_MAX = 5_000;
/** Of what a test may listen to. */
const EVENTS = ["console", "dialog", "pageerror", "request", "response"] as const;

/**
 * Pages of one origin that later tests use again: a new context and renderer process cost more CPU time than loading the
 * portal. Cookies, storage, routes and emulation are those of a new page.
 */
export class PagePool {
  readonly #browser: Browser;
  readonly #origin: string;
  readonly #idle: Opened[] = [];

  constructor(browser: Browser, origin: string) {
    this.#browser = browser;
    this.#origin = origin;
  }

  /** A page with other options than its size is not used again. */
  async take({ viewport, ...options }: BrowserContextOptions, cookies: Cookies): Promise<PageLease> {
    const isPlain = Object.keys(options).length === 0;
    const opened = (isPlain ? this.#idle.pop() : undefined) ?? (await this.#open(options));
    const { context, page } = opened;
    await context.addCookies(cookies);
    if (viewport !== undefined && viewport !== null) await page.setViewportSize(viewport);
    const discard = () => context.close();
    const giveBack = async () => {
      if (!isPlain || !(await this.#restore(opened))) return discard();
      this.#idle.push(opened);
    };
    return { context, page, giveBack, discard };
  }

  async close(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map(({ context }) => context.close()));
  }

  async #open(options: BrowserContextOptions): Promise<Opened> {
    const context = await this.#browser.newContext({ ...DEFAULTS, ...options });
    context.setDefaultTimeout(TIMEOUT_MS);
    return { context, page: await context.newPage() };
  }

  /** False when the page is closed or cannot be left. */
  async #restore({ context, page }: Opened): Promise<boolean> {
    try {
      for (const event of EVENTS) page.removeAllListeners(event);
      await Promise.all(context.pages().flatMap((other) => (other === page ? [] : [other.close()])));
      for (const routed of [page, context]) await routed.unrouteAll({ behavior: "ignoreErrors" });
      await context.setOffline(false);
      await context.clearCookies();
      // In the same origin, so that the renderer process stays.
      await page.goto(`${this.#origin}/healthz`, { timeout: LEAVE_MS_MAX });
      await page.evaluate("localStorage.clear(); sessionStorage.clear()");
      await page.emulateMedia(MEDIA);
      await page.setViewportSize(VIEWPORT);
      return true;
    } catch {
      return false;
    }
  }
}
