import path from "node:path";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { buildPortal } from "../../../scripts/portal.mjs";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { unusedPort } from "../../support/upstream.ts";
import { theBrowser } from "./browser.ts";
import { PagePool } from "./page-pool.ts";
import { invite, type Person, setUpFirst } from "./people.ts";
import { watch } from "./watch.ts";

/** The first person of a gateway (operator, and owner of its demo workspace), invited ones, or a signed-out visitor. */
export type Who = "operator" | "admin" | "member" | "visitor";

type Settings = Readonly<Record<string, string>>;

export type PageOptions = BrowserContextOptions & {
  /** Console errors and the like that this test provokes: `/status of 404/`. */
  readonly allow?: readonly RegExp[];
};

export type Portal = {
  readonly gateway: TestGateway;
  readonly browser: Browser;
  /** `http://localhost:port`: by a name, because passkeys need one. */
  readonly origin: string;
  /** The address of a screen of the demo workspace: `portal.at("keys?state=active")`. */
  at(screen?: string, workspace?: string): string;
  /** A page that shares no state with others; it ends with the test, which fails if the page did what no page may do. */
  page(who: Who, options?: PageOptions): Promise<Page>;
  /** Email and password of a person who can sign in. */
  person(who: Exclude<Who, "visitor">): Promise<Person>;
  close(): Promise<void>;
};

const DEMO = "demo";
const FAILED = path.resolve(import.meta.dirname, "../../../.cache/e2e");

type SettingsOf = Settings | ((origin: string) => Promise<Settings>);

/** A real gateway with the portal as it is now. */
export async function startPortalGateway(settings: SettingsOf = {}): Promise<Pick<Portal, "gateway" | "origin">> {
  await buildPortal();
  const port = await unusedPort();
  const origin = `http://localhost:${port}`;
  const env = typeof settings === "function" ? await settings(origin) : settings;
  const gateway = await startGateway({ env: { PORT: String(port), GATEWAY_PUBLIC_URL: origin, ...env } });
  return { gateway, origin };
}

/** A gateway and the browser: open it in `beforeAll`, close it in `afterAll`. */
export async function openPortal(settings: SettingsOf = {}): Promise<Portal> {
  const { gateway, origin } = await startPortalGateway(settings);
  const browser = await theBrowser();
  const pages = new PagePool(browser, origin);
  const people = new Map<Who, Promise<Person>>();

  const person = (who: Exclude<Who, "visitor">): Promise<Person> => {
    const known = people.get(who);
    if (known !== undefined) return known;
    const made =
      who === "operator" ? setUpFirst(gateway, origin) : person("operator").then(() => invite(gateway, origin, who));
    people.set(who, made);
    return made;
  };

  const cookiesOf = async (who: Who) => (who === "visitor" ? [] : [...(await person(who)).cookies]);

  return {
    gateway,
    browser,
    origin,
    person,
    at: (screen = "", workspace = DEMO) => `${origin}/app/w/${workspace}${screen === "" ? "" : `/${screen}`}`,
    async page(who, { allow = [], ...options } = {}) {
      const { context, page, giveBack, discard } = await pages.take(options, await cookiesOf(who));
      const watched = watch(context, origin);
      for (const pattern of allow) watched.allow(pattern);
      onTestFinished(async ({ task }) => {
        const isFailed = task.result?.state === "fail";
        if (isFailed) await photograph(context, task.name);
        watched.stop();
        await (isFailed ? discard() : giveBack());
        expect(watched.problems).toEqual([]);
      });
      return page;
    },
    async close() {
      await pages.close();
      await gateway.close();
    },
  };
}

/** A test that failed leaves a picture of its pages. */
async function photograph(context: BrowserContext, failed: string): Promise<void> {
  for (const [at, page] of context.pages().entries()) {
    const file = path.join(FAILED, `${failed.replaceAll(/[^\w]+/g, "-").slice(0, 80)}-${at}.png`);
    await page.screenshot({ path: file }).catch(() => undefined);
    process.stderr.write(`what it looked like: ${file}\n`);
  }
}
