import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";

describe.skipIf(!hasChromium)("the status page", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  });
  afterAll(() => portal?.close());

  test.each([1280, 390])("PORTAL-23 /status is accessible without sign-in, %i pixels wide", async (width) => {
    const page = await portal.page("visitor", { viewport: { width, height: 800 } });
    await page.goto(`${portal.origin}/status`);
    await expect.poll(() => page.getByRole("heading", { name: "Status" }).isVisible()).toBe(true);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    await expectAccessible(page);
  });
});
