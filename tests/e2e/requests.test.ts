import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

const chatOf = (content: string, model = "sandbox/chat") => ({
  model,
  max_tokens: 24,
  messages: [{ role: "user", content }],
});

/** Many steps: on a machine that does other things as well they take their time. */
const SLOW_MS = 60_000;

describe.skipIf(!hasChromium)("requests in the portal", () => {
  let portal: Portal;
  let failedOver: string;
  let routed = "";

  const chat = async (content: string, model = "sandbox/chat", app = "support-desk") => {
    const { headers } = await portal.gateway.call(portal.gateway.key, "/v1/chat/completions", {
      body: chatOf(content, model),
      headers: { "x-title": app },
    });
    return headers.get("x-svc-request-id") ?? "";
  };
  const rowsOf = (page: Page) => page.getByRole("table", { name: "Requests" }).getByRole("row");

  beforeAll(async () => {
    portal = await openPortal();
    for (const [n, model] of ["sandbox/chat", "auto", "sandbox/chat-fr", "sandbox/claude"].entries())
      if (model === "auto") routed = await chat(`Hello ${n}`, model);
      else await chat(`Hello ${n}`, model);
    failedOver = await chat("Please answer", "sandbox/fail-over", "nightly batch");
    await chat("Please answer", "sandbox/fail-500", "nightly batch");
    await chat("Please answer", "sandbox/nothing-like-it");
    await portal.gateway.call(portal.gateway.key, "/v1/embeddings", { body: { model: "sandbox/embed", input: "Hi" } });
  });
  afterAll(() => portal?.close());

  test("PORTAL-03 the list is filtered in the address, and a request is found by its id", {
    timeout: SLOW_MS,
  }, async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("requests"));
    await page.getByRole("link", { name: /sandbox\/embed/ }).waitFor();
    expect(await rowsOf(page).count()).toBe(9);
    await screenshot(page, "requests");
    await expectAccessible(page);
    await page.getByLabel("Surface", { exact: true }).selectOption("embeddings");
    await page.waitForURL(/surface=embeddings/);
    await expect.poll(() => rowsOf(page).count(), { timeout: 15_000 }).toBe(2);
    await page.goto(portal.at("requests?status=5xx"));
    await page.getByRole("link", { name: /sandbox\/fail-500/ }).waitFor();
    expect(await rowsOf(page).count()).toBe(2);
    await page.getByLabel("App", { exact: true }).fill("support-desk");
    await page.keyboard.press("Enter");
    await page.getByText("No request fits these filters").waitFor();
    expect(new URL(page.url()).search).toBe("?status=5xx&app=support-desk");
    await page.getByRole("main").getByRole("button", { name: "Clear all filters" }).last().click();
    await page.getByRole("link", { name: /sandbox\/embed/ }).waitFor();
    await page.getByLabel("Request id").fill(failedOver);
    await page.keyboard.press("Enter");
    await page.waitForURL(portal.at(`requests/${failedOver}`));
    await page.getByRole("heading", { name: "Attempts" }).waitFor();
  });

  test.each([768, 820, 1024])(
    "PORTAL-12 PORTAL-03 at a width of %i the cost of every request is in sight without scrolling",
    {
      timeout: SLOW_MS,
    },
    async (width) => {
      const page = await portal.page("operator", { viewport: { width, height: 1024 } });
      await page.goto(portal.at("requests"));
      await page.getByRole("link", { name: /sandbox\/embed/ }).waitFor();
      const rights = await page.getByRole("table", { name: "Requests" }).evaluate((table) => {
        const place = [...table.querySelectorAll("th")].findIndex((head) => head.textContent === "Cost");
        const cells = [...table.querySelectorAll("tr")].map((row) => row.children[place]);
        const edge = table.parentElement?.getBoundingClientRect().right ?? 0;
        return cells.map((cell) => edge - (cell?.getBoundingClientRect().right ?? Number.POSITIVE_INFINITY));
      });
      expect(rights).toHaveLength(9);
      for (const room of rights) expect(room).toBeGreaterThanOrEqual(0);
    },
  );

  test("PORTAL-03 the routing decision is drawn: candidates, scores, attempts, the commit point and the cost", {
    timeout: SLOW_MS,
  }, async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at(`requests/${failedOver}`));
    const attempts = page.getByRole("listitem").filter({ hasText: "upstream" });
    await attempts.first().waitFor();
    expect(await attempts.first().textContent()).toMatch(/sandbox-us.*went on to the next.*upstream 503/);
    expect(await attempts.last().textContent()).toMatch(/served.*upstream 200/);
    await page.getByText(/Commit point after/).waitFor();
    const planned = page.getByRole("table", { name: "Candidates in the order they would be tried" });
    expect(await planned.getByRole("row").nth(1).textContent()).toContain("tried");
    await planned
      .getByText(/^expected €/)
      .first()
      .waitFor();
    await page.getByRole("rowheader", { name: "Charged" }).waitFor();
    await page.getByText("demands nothing").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "API" }).click();
    await page.getByText(`/manage/requests/${failedOver}`).waitFor();
    await page.goto(portal.at(`requests/${routed}`));
    await planned.getByText("Quality").first().waitFor();
    expect(await planned.getByRole("row").nth(1).textContent()).toMatch(/served.*Quality\d\.\d\d.*Latency\d\.\d\d/);
    await page.evaluate("window.scrollTo(0, 560)");
    await screenshot(page, "request");
  });

  test("PORTAL-03 a request that failed says why and what to do, and who fell out", async () => {
    await portal.gateway.manage("PATCH", "/workspaces/demo/policy", { floor: "L3" });
    const refused = await chat("Hello", "sandbox/gemini");
    await portal.gateway.manage("PATCH", "/workspaces/demo/policy", { floor: null });
    const page = await portal.page("operator");
    await page.goto(portal.at(`requests/${refused}`));
    await page.getByText("sovereignty_floor_not_met").first().waitFor();
    await page.getByRole("link", { name: "Open the policy" }).waitFor();
    const fallen = page.getByRole("table", { name: "Candidates that fell out" });
    expect(await fallen.textContent()).toContain("below the floor L3");
    await page.getByText("at least level L3").waitFor();
    expect(await page.getByText("no level", { exact: true }).count()).toBe(0);
    await page.goto(portal.at(`requests/${await chat("Hello", "sandbox/gemini")}`));
    await page.getByText(/^1 EUR = [\d.]+ USD$/).waitFor();
  });

  test("PORTAL-03 the live tail shows calls as they end and leaves the reader where they are", async () => {
    const page = await portal.page("operator", { viewport: { width: 1280, height: 420 } });
    await page.goto(portal.at("requests"));
    await page.getByRole("switch", { name: "Live" }).click();
    await page.waitForURL(/live=1/);
    await chat("Now", "sandbox/chat-mini", "came live");
    await rowsOf(page).filter({ hasText: "came live" }).first().waitFor();
    await page.evaluate("window.scrollTo(0, 400)");
    const before = await page.evaluate("window.scrollY");
    await chat("Later", "sandbox/chat-mini", "came while reading");
    const news = page.getByRole("button", { name: /1 new request/ });
    await news.waitFor();
    expect(await page.evaluate("window.scrollY")).toBe(before);
    expect(await rowsOf(page).filter({ hasText: "came while reading" }).count()).toBe(0);
    await news.click();
    await rowsOf(page).nth(1).filter({ hasText: "came while reading" }).waitFor();
    expect(await page.evaluate("window.scrollY")).toBe(0);
  });

  test("PORTAL-03 pages go on by cursor, and what is filtered can be saved as a file", async () => {
    await Promise.all(Array.from({ length: 50 }, (_, n) => chat(`More ${n}`, "sandbox/chat", "many")));
    const page = await portal.page("operator");
    await page.goto(portal.at("requests"));
    await page.getByRole("button", { name: "Load more" }).click();
    await page.getByRole("button", { name: "Load more" }).waitFor({ state: "detached" });
    expect(await rowsOf(page).count()).toBeGreaterThan(58);
    await page.goto(portal.at("requests?app=nightly%20batch"));
    await page.getByRole("link", { name: /sandbox\/fail-500/ }).waitFor();
    await page.getByRole("button", { name: "Export" }).click();
    const saved = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: /^CSV/ }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toBe("demo-requests.csv");
    expect(new URL(file.url()).searchParams.get("app")).toBe("nightly batch");
  });

  test("PORTAL-03 a member sees their own requests only", async () => {
    const page = await portal.page("member", { allow: [/status of 40[34]/] });
    await page.goto(portal.at("requests"));
    await page.getByText("No requests yet").waitFor();
    expect(await page.getByLabel("Member", { exact: true }).count()).toBe(0);
    await page.goto(portal.at(`requests/${failedOver}`));
    await page.getByText("This request is not in the log").waitFor();
  });
});
