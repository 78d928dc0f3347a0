import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { moneyText } from "../../portal/src/format/money.ts";
import { durationText } from "../../portal/src/format/time.ts";
import type { Json } from "../support/gateway.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { pick } from "./support/pick.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

const chatOf = (content: string, model = "sandbox/chat") => ({
  model,
  max_tokens: 24,
  messages: [{ role: "user", content }],
});

/** Many steps: on a machine that does other things as well they take their time. */
const SLOW_MS = 120_000;

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
    await expect.poll(() => rowsOf(page).count()).toBe(9);
    await screenshot(page, "requests");
    await expectAccessible(page);
    await page.getByLabel("Surface", { exact: true }).selectOption("embeddings");
    await page.waitForURL(/surface=embeddings/);
    await expect.poll(() => rowsOf(page).count(), { timeout: 15_000 }).toBe(2);
    await page.goto(portal.at("requests?status=5xx"));
    await page.getByRole("link", { name: /sandbox\/fail-500/ }).waitFor();
    await expect.poll(() => rowsOf(page).count()).toBe(2);
    await page.getByLabel("App", { exact: true }).fill("support-desk");
    await page.keyboard.press("Enter");
    await page.getByText("No requests match").waitFor();
    expect(new URL(page.url()).search).toBe("?status=5xx&app=support-desk");
    await page.getByRole("main").getByRole("button", { name: "Clear filters" }).last().click();
    await page.getByRole("link", { name: /sandbox\/embed/ }).waitFor();
    await page.getByLabel("Request ID").fill(failedOver);
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

  test("PORTAL-03 each filter lists what the log has of it, and a row says what the log says and opens its request", {
    timeout: SLOW_MS,
  }, async () => {
    const { gateway } = portal;
    const { slug, key, keyId } = await gateway.tenant();
    const workspace = `/workspaces/${slug}`;
    const member = "grace@example.eu";
    await gateway.manage("POST", `${workspace}/members`, { email: member });
    await gateway.manage("PATCH", `${workspace}/key-policy`, { personal_keys: true });
    const personal = await gateway.manage("POST", `${workspace}/keys`, {
      ...{ name: "personal", environment: "test", member },
    });
    const calls = [
      [key, "sandbox/chat"],
      [key, "sandbox/fail-500"],
      [personal.key, "sandbox/chat-fr"],
    ] as const;
    for (const [by, model] of calls)
      await gateway.call(by, "/v1/chat/completions", { body: { ...chatOf("Hello", model), stream: true } });
    const logged = async (query = ""): Promise<Json[]> =>
      (await gateway.manage("GET", `${workspace}/requests?${query}`)).data;
    const page = await portal.page("operator");
    await page.goto(portal.at("requests", slug));
    const links = page.getByRole("table", { name: "Requests" }).getByRole("link");
    const listed = () => links.evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    const lists = (rows: readonly Json[]) =>
      expect.poll(listed, { timeout: 15_000 }).toEqual(rows.map(({ id }) => `/app/w/${slug}/requests/${id}`));
    const all = await logged();
    const keyName = all.find(({ key_id }) => key_id === keyId)?.key_name;
    await lists(all);
    for (const [name, label, value] of [
      ["key", "Key", keyId],
      ["status", "Status", "5xx"],
      ["model", "Model", "sandbox/chat-fr"],
      ["provider", "Provider", all[0]?.provider],
      ["member", "Member", member],
      ["env", "Environment", "live"],
    ] as const) {
      if (name === "env") await page.getByLabel(label, { exact: true }).selectOption(value);
      else await pick(page.getByRole("combobox", { name: label, exact: true }), name === "key" ? keyName : value);
      const fitting = await logged(new URLSearchParams({ [name]: value }).toString());
      expect([1, 2], name).toContain(fitting.length);
      await lists(fitting);
      expect(new URL(page.url()).search).toBe(`?${new URLSearchParams({ [name]: value })}`);
      await page.getByRole("button", { name: "Clear filters" }).click();
      await lists(all);
    }
    await page.getByLabel("Period").selectOption("Custom range");
    await page.getByLabel("From", { exact: true }).fill("2100-01-01T00:00");
    await page.getByText("No requests match").waitFor();
    await page.goto(portal.at("requests", slug));
    const [newest, failed] = all;
    const cells = (row: number) => rowsOf(page).nth(row).getByRole("cell");
    await lists(all);
    const [, , , usedKey, served, ...figures] = await cells(1).allTextContents();
    expect(usedKey).toBe(`Key${newest.key_name}`);
    expect(served).toContain(`${newest.provider}${newest.level}`);
    expect(figures).toEqual([
      `Tokens (in → out)${newest.usage.input_tokens}→in,${newest.usage.output_tokens}out`,
      `TTFB${durationText(newest.ttfb_ms)}`,
      `Total${durationText(newest.total_ms)}`,
    ]);
    await expect.poll(() => cells(1).nth(2).getByTitle(`${newest.cost} EUR`).count()).toBe(1);
    expect(await cells(2).nth(1).textContent()).toBe(`${failed.status}${failed.error_code}`);
    await links.first().click();
    await page.waitForURL(portal.at(`requests/${newest.id}`, slug));
  });

  test("PORTAL-03 the routing decision is drawn: candidates, scores, attempts, the commit point and the cost", {
    timeout: SLOW_MS,
  }, async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at(`requests/${failedOver}`));
    const attempts = page.getByRole("listitem").filter({ hasText: "HTTP " });
    await attempts.first().waitFor();
    expect(await attempts.first().textContent()).toMatch(/sandbox-us.*Failed over.*HTTP 503/);
    expect(await attempts.last().textContent()).toMatch(/Served.*HTTP 200/);
    await page.getByText(/Commit point at/).waitFor();
    const planned = page.getByRole("table", { name: "Planned candidates" });
    expect(await planned.getByRole("row").nth(1).textContent()).toContain("Attempted");
    await planned
      .getByText(/^Expected €/)
      .first()
      .waitFor();
    const row: Json = await portal.gateway.manage("GET", `/requests/${failedOver}`);
    for (const [at, { reason }] of row.attempts.entries())
      expect(await attempts.nth(at).textContent()).toContain(reason);
    const [why] = row.decision.candidates.filter(({ endpoint }: Json) => endpoint === row.decision.order[0]);
    expect(await planned.getByRole("row").nth(1).textContent()).toContain(why.reason);
    const costs = page.getByRole("row");
    const { price } = row.charge;
    for (const [name, used, perMillion] of [
      ["Input tokens", row.usage.input_tokens, price.input_per_1m_tokens],
      ["Output tokens", row.usage.output_tokens, price.output_per_1m_tokens],
    ])
      expect(await costs.filter({ hasText: name }).textContent()).toBe(
        `${name}${used}${moneyText(perMillion, price.currency, "price")} per 1M tokens`,
      );
    expect(await costs.filter({ hasText: "Charge" }).getByTitle(`${row.cost} ${row.currency}`).count()).toBe(1);
    const by = page.getByRole("definition");
    await expect
      .poll(() => by.allTextContents())
      .toEqual(expect.arrayContaining([row.model, row.provider, row.endpoint]));
    const ofKey = page.getByRole("link", { name: row.key_name, exact: true });
    expect(await ofKey.getAttribute("href")).toBe(`/app/w/demo/requests?key=${row.key_id}`);
    await page.getByText("No restrictions").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "API" }).click();
    await page.getByText(`/manage/requests/${failedOver}`).waitFor();
    await page.goto(portal.at(`requests/${routed}`));
    await planned.getByText("Quality").first().waitFor();
    expect(await planned.getByRole("row").nth(1).textContent()).toMatch(/Served.*Quality\d\.\d\d.*Latency\d\.\d\d/);
    await page.evaluate("window.scrollTo(0, 560)");
    await screenshot(page, "request");
  });

  test("PORTAL-03 a failed request shows the reason, the next step and excluded candidates", async () => {
    const policy = "/workspaces/demo/policy";
    const others = { countries: ["DE", "FR"], allowed_models: ["sandbox/gemini"], blocked_providers: ["sandbox-fr"] };
    const data = { zero_data_retention: true, no_training: true };
    await portal.gateway.manage("PATCH", policy, { floor: "L3", ...data, ...others });
    const refused = await chat("Hello", "sandbox/gemini");
    const nothing = { countries: null, allowed_models: null, blocked_providers: [] };
    const open = { floor: null, zero_data_retention: false, no_training: false, ...nothing };
    await portal.gateway.manage("PATCH", policy, open);
    const page = await portal.page("operator");
    await page.goto(portal.at(`requests/${refused}`));
    await page.getByText("sovereignty_floor_not_met").first().waitFor();
    await page.getByText(/^Use another model, or have the policy relaxed/).waitFor();
    expect(await page.getByRole("link", { name: "View policy" }).getAttribute("href")).toBe("/app/w/demo/policy");
    const excluded = page.getByRole("table", { name: "Excluded candidates" });
    expect(await excluded.textContent()).toContain("below the floor L3");
    await page
      .getByText(
        "minimum level L3; countries DE, FR; zero data retention; no training; blocked providers sandbox-fr; models sandbox/gemini",
      )
      .waitFor();
    expect(await page.getByText("Unclassified", { exact: true }).count()).toBe(0);
    await page.goto(portal.at(`requests/${await chat("Hello", "sandbox/gemini")}`));
    await page.getByText(/^1 EUR = [\d.]+ USD$/).waitFor();
  });

  test("PORTAL-03 the live tail shows calls as they end and leaves the reader where they are", async () => {
    const page = await portal.page("operator", { viewport: { width: 1280, height: 420 } });
    await page.goto(portal.at("requests?surface=chat"));
    await page.getByRole("switch", { name: "Live" }).click();
    await page.waitForURL(/live=1/);
    const embeddings = { body: { model: "sandbox/embed", input: "Hi" }, headers: { "x-title": "fits no filter" } };
    await portal.gateway.call(portal.gateway.key, "/v1/embeddings", embeddings);
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
    expect(await rowsOf(page).filter({ hasText: "fits no filter" }).count()).toBe(0);
  });

  test("PORTAL-03 pages go on by cursor, and what is filtered can be saved as a file", async () => {
    await Promise.all(Array.from({ length: 50 }, (_, n) => chat(`More ${n}`, "sandbox/chat", "many")));
    const page = await portal.page("operator");
    await page.goto(portal.at("requests"));
    await page.getByRole("button", { name: "Load more" }).click();
    await page.getByRole("button", { name: "Load more" }).waitFor({ state: "detached" });
    await expect.poll(() => rowsOf(page).count()).toBeGreaterThan(58);
    await page.goto(portal.at("requests?app=nightly%20batch"));
    await page.getByRole("link", { name: /sandbox\/fail-500/ }).waitFor();
    await page.getByRole("button", { name: "Export" }).click();
    const saved = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: /CSV$/ }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toBe("demo-requests.csv");
    expect(new URL(file.url()).searchParams.get("app")).toBe("nightly batch");
    await page.getByRole("button", { name: "Export" }).click();
    const lines = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: /JSON Lines$/ }).click();
    const text = await readFile(await (await lines).path(), "utf8");
    const apps = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).app);
    expect(apps).toEqual(["nightly batch", "nightly batch"]);
  });

  test("PORTAL-03 a member sees their own requests only", async () => {
    const page = await portal.page("member", { allow: [/status of 40[34]/] });
    await page.goto(portal.at("requests"));
    await page.getByText("No requests yet").waitFor();
    expect(await page.getByLabel("Member", { exact: true }).count()).toBe(0);
    await page.goto(portal.at(`requests/${failedOver}`));
    await page.getByText("Request not found").waitFor();
  });
});
