import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible, layoutViolations } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPast, type Past } from "./support/past.ts";
import { ScreenVisitor, screenPaths } from "./support/visit-screens.ts";

const SLOW_MS = 240_000;
const TOUR_MS = 600_000;
const WIDTHS = [390, 820, 900, 1440];
const TABLET = { width: 820, height: 1180 };
const PHONE = { width: 390, height: 844 };
/** Compressed, with headers. */
const API_BYTES_MAX = 60_000;

/**
 * Figures and times that are cut: by their own box, or by the edge of the table. What lies wholly behind an edge is
 * hidden, not cut.
 */
const CUT_FIGURES = `[...document.querySelectorAll("main table")].flatMap((table) => {
  const name = table.getAttribute("aria-label") ?? "table";
  const scroller = table.closest("[data-scroller]");
  const frame = scroller?.parentElement;
  const cuts = [];
  const px = (name) => Number.parseFloat(frame?.style.getPropertyValue(name) || "0");
  const box = scroller?.getBoundingClientRect();
  const hasMore = (side) => frame?.hasAttribute("data-more-" + side) && frame.hasAttribute("data-cut-" + side);
  const from = box === undefined ? 0 : box.left + px("--edge-start") + (hasMore("start") ? px("--cover-start") : 0);
  const to = box === undefined ? innerWidth : box.right - px("--edge-end") - (hasMore("end") ? px("--cover-end") : 0);
  for (const one of table.querySelectorAll("tbody .figures, tbody time, td.text-right")) {
    const { left, right, width, height } = one.getBoundingClientRect();
    if (width === 0 || height === 0 || one.closest(".sr-only") !== null) continue;
    const text = name + ": " + one.textContent.trim();
    if (one.matches(".figures, time") && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== "visible")
      cuts.push(text + " (ellipsis)");
    if (!one.matches(".figures, time")) continue;
    if (one.closest("td")?.matches(".md\\\\:sticky")) continue;
    const clip = one.closest(".truncate");
    if (clip !== null && clip.scrollWidth > clip.clientWidth + 1) cuts.push(text + " (truncated)");
    const isCutAtEnd = left < to - 1 && right > to + 1;
    const isCutAtStart = left < from - 1 && right > from + 1;
    if ((one.matches("time") || one.closest("td").matches(".text-right")) && (isCutAtEnd || isCutAtStart)) cuts.push(text + " (edge)");
  }
  return cuts;
})`;

describe.skipIf(!hasChromium)("tables of the portal", () => {
  let portal: Past;
  beforeAll(async () => {
    // The files of all screens exceed the default rate limit of one address.
    portal = await openPast({ GATEWAY_RPM_IP: "0" });
    const { gateway } = portal;
    for (let n = 0; n < 3; n += 1)
      await gateway.call(gateway.key, "/v1/chat/completions", {
        body: { model: "sandbox/chat", max_tokens: 16, messages: [{ role: "user", content: "Hello" }] },
      });
    await gateway.manage("POST", "/workspaces/demo/tokens", { name: "terraform", access: "read" });
    await gateway.manage("POST", "/workspaces/demo/capture-windows", { minutes: 5, reason: "Test" });
    await gateway.manage("PATCH", "/workspaces/demo/policy", { floor: "L0" });
  }, SLOW_MS);
  afterAll(() => portal?.close());

  const tableOf = (page: Page, name: string) => page.getByRole("table", { name, exact: true });
  const columnOf = async (page: Page, table: string, header: string): Promise<string[]> =>
    tableOf(page, table).evaluate((element, wanted) => {
      const at = [...element.querySelectorAll("thead th")].findIndex((th) => th.textContent?.trim() === wanted);
      return [...element.querySelectorAll("tbody tr:not([aria-hidden])")].map(
        (tr) => tr.children[at]?.textContent ?? "",
      );
    }, header);

  // One visit proves all of it: loading every screen is most of the work.
  test("PORTAL-24 PORTAL-12 every screen fetches at most 60 kB, cuts no figure, and passes axe from 390 to 1440 px", {
    timeout: TOUR_MS,
  }, async () => {
    const page = await portal.page("operator", { viewport: TABLET, allow: [/status of 40[134]/] });
    const { visitor } = await ScreenVisitor.create(page, portal.origin);
    const withTables: string[] = [];
    const heavy: string[] = [];
    const extra = [
      "/app/w/demo/wallet?tab=promotions",
      "/app/w/demo/policy?tab=history",
      "/app/operator/rates?tab=history",
      "/app/operator/health?show=all",
    ];
    for (const screen of [...(await screenPaths(portal)), ...extra]) {
      const { apiBytes, largest } = await visitor.visit(screen);
      if (process.env["SHOW_WEIGHTS"] === "1") process.stderr.write(`${screen} ${apiBytes} ${largest}\n`);
      if (apiBytes > API_BYTES_MAX) heavy.push(`${screen}: ${apiBytes} bytes, most of them ${largest}`);
      if ((await page.locator("main [data-scroller]").count()) > 0) withTables.push(screen);
      expect({ screen, cut: await page.evaluate(CUT_FIGURES) }).toEqual({ screen, cut: [] });
      // Halfway: neither edge may cut a figure.
      await page.evaluate(
        `for (const one of document.querySelectorAll("main [data-scroller]")) one.scrollLeft = (one.scrollWidth - one.clientWidth) / 2`,
      );
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
      expect({ screen, cut: await page.evaluate(CUT_FIGURES) }).toEqual({ screen, cut: [] });
      expect({ screen, layout: await layoutViolations(page, WIDTHS) }).toEqual({ screen, layout: [] });
      await page.setViewportSize(TABLET);
    }
    expect(withTables.length).toBeGreaterThanOrEqual(15);
    expect(heavy).toEqual([]);
  });

  test("PORTAL-03 on a phone a request takes at most 120 px", async () => {
    const page = await portal.page("operator", { viewport: PHONE });
    for (const [screen, table, rowsMin] of [
      ["", "Recent requests", 5],
      ["requests", "Requests", 10],
    ] as const) {
      await page.goto(portal.at(screen));
      const rows = tableOf(page, table).locator("tbody tr:not([aria-hidden])");
      await rows.first().waitFor();
      await expect.poll(() => tableOf(page, table).getAttribute("aria-busy")).toBe("false");
      const heights = await rows.evaluateAll((all) => all.map((row) => row.getBoundingClientRect().height));
      expect(heights.length, table).toBeGreaterThan(rowsMin);
      expect(Math.max(...heights), table).toBeLessThanOrEqual(120);
      await expectAccessible(page);
    }
  });

  test("PORTAL-02 a complete list is sorted by its headers, and the order is in the address", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("keys"));
    const header = tableOf(page, "Keys").getByRole("columnheader", { name: "Name" });
    await header.getByRole("button").click();
    await page.waitForURL(/sort=name/);
    expect(await header.getAttribute("aria-sort")).toBe("ascending");
    const names = async () => (await columnOf(page, "Keys", "Name")).map((text) => text.split("sk_svc")[0]);
    const ascending = await names();
    expect(ascending).toEqual(ascending.toSorted((a, b) => String(a).localeCompare(String(b))));
    await header.getByRole("button").click();
    await expect.poll(names).toEqual(ascending.toReversed());
    expect(await header.getAttribute("aria-sort")).toBe("descending");
    await page.reload();
    await tableOf(page, "Keys").getByRole("link").first().waitFor();
    expect(await names()).toEqual(ascending.toReversed());
  });

  test("PORTAL-03 a page of a longer list has no sort buttons", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("wallet"));
    await page.getByRole("button", { name: "Load more" }).waitFor();
    expect(await tableOf(page, "Ledger").locator("thead button").count()).toBe(0);
  });

  test("PORTAL-07 the models are sorted by the API", async () => {
    const page = await portal.page("operator");
    await page.goto(`${portal.origin}/app/models`);
    const sortedRequest = page.waitForRequest((request) => request.url().includes("sort=-context"));
    await tableOf(page, "Models").getByRole("button", { name: "Context" }).click();
    await sortedRequest;
    await page.waitForURL(/sort=-context/);
    const context = tableOf(page, "Models").getByRole("columnheader", { name: "Context" });
    expect(await context.getAttribute("aria-sort")).toBe("descending");
  });

  test("PORTAL-03 columns are chosen per table and kept in the browser", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("requests"));
    const headers = () => tableOf(page, "Requests").getByRole("columnheader").allTextContents();
    await expect.poll(headers).toContain("TTFB");
    await page.getByRole("button", { name: "Columns of Requests" }).click();
    await page.getByRole("menuitemcheckbox", { name: "TTFB" }).click();
    await page.getByRole("menuitemcheckbox", { name: "Member" }).click();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await expect.poll(headers).not.toContain("TTFB");
    expect(await headers()).toContain("Member");
    await page.reload();
    await expect.poll(headers).toContain("Member");
    expect(await headers()).not.toContain("TTFB");
    await page.getByRole("button", { name: "Columns of Requests" }).click();
    await page.getByRole("menuitem", { name: "Reset columns" }).click();
    await expect.poll(headers).toContain("TTFB");
  });

  test("PORTAL-12 the first column stays in sight, and the edges show that there is more", async () => {
    const page = await portal.page("operator", { viewport: TABLET });
    await page.goto(portal.at("usage?group=key"));
    const table = tableOf(page, "Totals");
    await table.getByText("backend").first().waitFor();
    const frame = table.locator("xpath=../..");
    await expect.poll(() => frame.getAttribute("data-more-end")).toBe("");
    expect(await frame.getAttribute("data-more-start")).toBeNull();
    const left = () =>
      table
        .getByRole("cell")
        .first()
        .evaluate((cell) => cell.getBoundingClientRect().left);
    const before = await left();
    await table.locator("..").evaluate((scroller) => scroller.scrollTo({ left: scroller.scrollWidth }));
    await expect.poll(() => frame.getAttribute("data-more-end")).toBeNull();
    expect(await frame.getAttribute("data-more-start")).toBe("");
    expect(await left()).toBe(before);
  });

  test("PORTAL-12 arrow keys move between rows, Enter and a click on any cell open one", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("requests"));
    const links = tableOf(page, "Requests").locator("tbody").getByRole("link");
    await links.first().focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    const second = await links.nth(1).getAttribute("href");
    await expect.poll(() => page.evaluate("document.activeElement?.getAttribute('href')")).toBe(second);
    await page.keyboard.press("Enter");
    await page.waitForURL(`${portal.origin}${second}`);
    await page.goBack();
    const third = await links.nth(2).getAttribute("href");
    await tableOf(page, "Requests").getByRole("row").nth(3).getByRole("cell").last().click();
    await page.waitForURL(`${portal.origin}${third}`);
  });

  test("PORTAL-12 of a long list only the rows near the window are in the document", { timeout: SLOW_MS }, async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("requests"));
    const rows = tableOf(page, "Requests").locator("tbody tr:not([aria-hidden])");
    for (const which of ["2", "3", "4"]) {
      const loaded = page.waitForResponse((response) => response.url().includes("/requests?"));
      await page.getByRole("button", { name: "Load more" }).click();
      expect((await loaded).ok(), `page ${which}`).toBe(true);
      await page.getByRole("button", { name: "Load more" }).and(page.locator(":not([aria-busy])")).waitFor();
    }
    await page.evaluate("window.scrollTo(0, 0)");
    await expect.poll(() => rows.count()).toBeLessThan(80);
    const height = await tableOf(page, "Requests").evaluate((table) => table.getBoundingClientRect().height);
    expect(height).toBeGreaterThan(200 * 40);
    const lastRowAtEnd = async () => {
      await page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)");
      return rows.last().getAttribute("aria-rowindex");
    };
    await expect.poll(lastRowAtEnd).toBe("201");
    await expectAccessible(page);
  });
});
