import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { amountOf, nanosOf } from "../../portal/src/format/nanos.ts";
import { numberText } from "../../portal/src/format/number.ts";
import type { Json } from "../support/gateway.ts";
import { PAYMENT_ENV, sendPayment } from "../support/payments.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { MEMBER_EMAIL, openPast, type Past } from "./support/past.ts";
import { screenshot } from "./support/screenshot.ts";

const QUARTER_MS = 90 * 86_400_000;
const PAGE = "https://pay.example.eu/?order={order}&amount={amount}";

describe.skipIf(!hasChromium)("money in the portal", () => {
  let portal: Past;
  beforeAll(async () => {
    portal = await openPast({ ...PAYMENT_ENV, GATEWAY_PAYMENT_WEBHOOK_PAGE: PAGE });
    await portal.gateway.manage("POST", "/workspaces/demo/wallet/promotions", {
      ...{
        amount: "10.00",
        expires_at: new Date(Date.now() + QUARTER_MS).toISOString(),
        reference: "welcome",
        note: "Welcome",
      },
    });
  });
  afterAll(() => portal?.close());

  test("PORTAL-05 the wallet says what can be spent, and each entry its request or note and the balance after it", async () => {
    const page = await portal.page("admin");
    await page.goto(portal.at("wallet"));
    const ledger = page.getByRole("table", { name: "Ledger" });
    await ledger.getByText("Welcome").waitFor();
    await screenshot(page, "wallet");
    const { data } = await portal.gateway.manage("GET", "/workspaces/demo/wallet/entries?limit=3");
    for (const entry of data)
      expect(await ledger.getByTitle(`${entry.balance_after} EUR`).count(), entry.id).toBeGreaterThan(0);
    const charged = ledger.getByRole("row").filter({ has: page.getByRole("link", { name: /chatcmpl-past/ }) });
    // Rounded on the page, exact in the tooltip.
    const shown = async (row: number) => {
      const cells = charged.nth(row).getByRole("cell");
      const exact = async (at: number) => {
        const title = await cells.nth(at).locator("[title$=EUR]").getAttribute("title");
        return nanosOf((title ?? "").replace(" EUR", ""));
      };
      const count = await cells.count();
      expect(await cells.nth(count - 1).textContent()).toMatch(/€\d+\.\d\d$/);
      return { amount: await exact(count - 2), after: await exact(count - 1) };
    };
    const [newer, older] = [await shown(0), await shown(1)];
    expect(older.after + newer.amount).toBe(newer.after);
    const { balance } = await portal.gateway.manage("GET", "/workspaces/demo/wallet");
    expect(data[0].balance_after).toBe(balance);
    expect(await page.getByTitle(`${balance} EUR`).first().isVisible()).toBe(true);
    const link = ledger.getByRole("link", { name: /chatcmpl-past/ }).first();
    expect(await link.getAttribute("href")).toContain("/app/w/demo/requests/chatcmpl-past");
    await page.getByLabel("Type").selectOption("Top-up");
    await ledger.getByText("Invoice 17").waitFor();
    expect(new URL(page.url()).searchParams.get("kind")).toBe("topup");
    await expectAccessible(page);
    const lines = await page.getByRole("link", { name: "JSON Lines" }).getAttribute("href");
    expect(Object.fromEntries(new URL(lines ?? "", page.url()).searchParams)).toEqual({
      kind: "topup",
      format: "jsonl",
    });
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "CSV" }).click();
    const saved = (await readFile(await (await download).path(), "utf8")).trimEnd().split("\r\n");
    expect(saved.slice(1).every((line) => line.includes(",topup,"))).toBe(true);
    // Days are those of the reader, both included.
    const { data: given } = await portal.gateway.manage("GET", "/workspaces/demo/wallet/entries?kind=promotion");
    const day = await page.evaluate<string>(`new Date("${given[0].created_at}").toLocaleDateString("sv")`);
    await page.goto(portal.at(`wallet?since=${day}&until=${day}&kind=topup,promotion`));
    await ledger.getByText("Welcome").waitFor();
    expect(await ledger.getByText("Invoice 17").count()).toBe(0);
    await page.getByLabel("To").fill("2020-01-01");
    await page.getByText("No entries match").waitFor();
  });

  test("PORTAL-05 what running requests hold cannot be spent, and a wallet with nothing left says so", async () => {
    const { slug, key } = await portal.gateway.tenant();
    const running = await fetch(`${portal.gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        ...{ model: "sandbox/slow", stream: true, messages: [{ role: "user", content: "word ".repeat(400) }] },
      }),
    });
    const { balance, held } = await portal.gateway.manage("GET", `/workspaces/${slug}/wallet`);
    expect(nanosOf(held)).toBeGreaterThan(0n);
    const page = await portal.page("operator");
    await page.goto(portal.at("wallet", slug));
    for (const [label, amount] of [
      ["Available", amountOf(nanosOf(balance) - nanosOf(held))],
      ["Balance", balance],
      ["Held", held],
    ]) {
      const figure = page.locator(".label-mark", { hasText: new RegExp(`^${label}$`) }).locator("..");
      await figure.getByTitle(`${amount} EUR`).waitFor();
    }
    expect(await page.getByText("No funds available").count()).toBe(0);
    await running.body?.cancel();
    await page.goto(portal.at("wallet", (await portal.gateway.tenant({ credit: "0" })).slug));
    await page.getByText("No funds available").waitFor();
  });

  test("PORTAL-05 a top-up is an order with the operator's page, and the wallet has the money when it is paid", async () => {
    const page = await portal.page("admin");
    await page.goto(portal.at("wallet?new=1"));
    await page.getByLabel("Amount (EUR)").fill("12,50");
    await page.getByLabel("Payment method").selectOption("Operator's shop");
    await page.getByRole("button", { name: "Create order" }).click();
    const pay = page.getByRole("link", { name: "Open payment page" });
    const href = (await pay.getAttribute("href")) ?? "";
    const order = new URL(href).searchParams.get("order");
    expect(href).toBe(`https://pay.example.eu/?order=${order}&amount=12.50`);
    await sendPayment(portal.gateway, {
      ...{ id: "evt_1", type: "payment.succeeded", order, payment: "pay_1", amount: "12.50", currency: "EUR" },
    });
    await page.getByText("€12.50 was added to the wallet.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
    await page.getByRole("tab", { name: "Top-ups" }).click();
    await page
      .getByRole("row", { name: new RegExp(order ?? "") })
      .getByText("Paid")
      .first()
      .waitFor();
    const waiting: Json = await portal.gateway.manage("POST", "/workspaces/demo/wallet/orders", {
      ...{ amount: "7.00", currency: "EUR", reference: "by-hand", adapter: "webhook" },
    });
    await page.reload();
    const open = page.getByRole("row", { name: new RegExp(waiting.id) });
    expect(await open.getByRole("link", { name: "Pay now" }).getAttribute("href")).toBe(waiting.pay_url);
    expect(await open.getByRole("cell").last().textContent()).toContain("€7.00");
    // Spent before money that was paid in.
    const { key } = await portal.gateway.manage("POST", "/workspaces/demo/keys", { name: "spender" });
    const body = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello" }] };
    expect((await portal.gateway.call(key, "/v1/chat/completions", { body })).status).toBe(200);
    const promotions = (): Promise<Json> => portal.gateway.manage("GET", "/workspaces/demo/wallet/promotions");
    await expect.poll(async () => (await promotions()).data[0].left).not.toBe("10.00");
    await page.getByRole("tab", { name: "Promotions" }).click();
    const given = page.getByRole("table", { name: "Promotional credit" });
    await given.getByText("Active").waitFor();
    const [{ left }] = (await promotions()).data;
    const credit = given.getByRole("row").nth(1).getByRole("cell");
    await expect.poll(() => credit.nth(3).getByTitle("10.00 EUR").count()).toBe(1);
    await expect.poll(() => credit.nth(4).getByTitle(`${left} EUR`).count()).toBe(1);
    await expectAccessible(page);
  });

  test("PORTAL-05 a statement of a month is chosen, saved as a file and printed without the frame around it", async () => {
    const page = await portal.page("admin");
    const month = new Date().toISOString().slice(0, 7);
    await page.goto(portal.at(`wallet/statements?month=${month}`));
    const paper = page.getByRole("article");
    await paper.getByText("Requests by model").waitFor();
    await screenshot(page, "statement");
    await expectAccessible(page);
    const statement = await portal.gateway.manage("GET", `/workspaces/demo/wallet/statement?month=${month}`);
    const { opening_balance: opening, closing_balance: closing, kinds, models } = statement;
    const change = amountOf(nanosOf(closing) - nanosOf(opening));
    const titles = (within: ReturnType<typeof paper.locator>) =>
      within.locator("[title]").evaluateAll((all) => all.map((one) => one.getAttribute("title")));
    expect(await titles(paper.locator("dd"))).toEqual([opening, change, closing].map((amount) => `${amount} EUR`));
    const rows = paper.locator("tbody tr");
    const figures = [
      ...kinds.map((kind: Json) => [kind.transactions, kind.in, kind.out]),
      ...models.map((model: Json) => [model.requests, model.cost]),
    ];
    expect(await rows.count()).toBe(figures.length);
    for (const [at, [count, ...amounts]] of figures.entries()) {
      expect(await rows.nth(at).getByRole("cell").nth(1).textContent()).toBe(numberText(count));
      expect(await titles(rows.nth(at))).toEqual(amounts.map((amount: string) => `${amount} EUR`));
    }
    await paper.getByText("Month in progress").waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "CSV" }).click();
    const text = await readFile(await (await download).path(), "utf8");
    expect(text.trimEnd().split("\r\n")).toEqual([
      "line,name,count,in,out,currency",
      `balance,opening,,${opening},,EUR`,
      ...kinds.map((one: Json) => `kind,${one.kind},${one.transactions},${one.in},${one.out},EUR`),
      ...models.map((one: Json) => `model,${one.model},${one.requests},,${one.cost},EUR`),
      `balance,closing,,${closing},,EUR`,
    ]);
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    expect(await page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe("light");
    expect(await page.getByRole("button", { name: "Print" }).isVisible()).toBe(false);
    expect(await page.getByRole("complementary").first().isVisible()).toBe(false);
    expect(await paper.isVisible()).toBe(true);
    await page.emulateMedia({ media: "screen" });
    await page.getByLabel("Month").selectOption({ index: 6 });
    await paper.getByText("No transactions in this month.").waitFor();
    expect(await paper.getByText("Month in progress").count()).toBe(0);
  });

  test("PORTAL-12 a statement of large sums fits on a phone", async () => {
    await portal.gateway.manage("POST", "/workspaces", { slug: "large" });
    const paid = { amount: "12345678.90", reason: "Paid" };
    await portal.gateway.manage("POST", "/workspaces/large/wallet/credits", { amount: paid.amount });
    for (const [reference, direction] of Object.entries({ back: "down", again: "up" }))
      await portal.gateway.manage("POST", "/workspaces/large/wallet/adjustments", { ...paid, reference, direction });
    const page = await portal.page("operator", { viewport: { width: 390, height: 844 } });
    await page.goto(portal.at("wallet/statements", "large"));
    const paper = page.getByRole("article");
    await paper.getByText("Transactions").waitFor();
    expect(await paper.evaluate((one) => one.scrollWidth <= one.clientWidth)).toBe(true);
  });

  test("PORTAL-05 limits are edited in place and sorted by usage", async () => {
    const page = await portal.page("admin", { allow: [/status of 400/] });
    await page.goto(portal.at("limits"));
    await page.getByText("No member or key limits").waitFor();
    const limits = (query: string): Promise<Json> => portal.gateway.manage("GET", `/workspaces/demo/limits?${query}`);
    const research = `key=${portal.keys.get("research")}`;
    const spent = nanosOf((await limits(research)).month.spent);
    const near = amountOf((10n * spent) / 9n);
    for (const [key, month] of [
      ["research", near],
      ["backend", "0.01"],
    ] as const) {
      await page.getByRole("button", { name: "Set limit" }).first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("combobox", { name: "Key" }).selectOption({ value: portal.keys.get(key) ?? "" });
      await dialog.getByLabel("Monthly limit (EUR)").fill(month);
      await dialog.getByRole("button", { name: "Set limit" }).click();
      await dialog.waitFor({ state: "hidden" });
    }
    await page.getByRole("button", { name: "Set limit" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("radio", { name: "Member" }).click();
    await dialog.getByRole("combobox", { name: "Member" }).selectOption(MEMBER_EMAIL);
    await dialog.getByLabel("Daily limit (EUR)").fill("30000");
    await dialog.getByRole("button", { name: "Set limit" }).click();
    await dialog.waitFor({ state: "hidden" });
    expect(await limits(`member=${MEMBER_EMAIL}`)).toMatchObject({
      day: { limit: "30000.00" },
      month: { limit: null },
    });
    await page.getByRole("button", { name: "Set limit for Workspace demo" }).click();
    await page.getByLabel("Daily limit (EUR)").fill("1,000");
    await page.getByRole("button", { name: "Save limits" }).click();
    expect(await page.locator("input:user-invalid").inputValue()).toBe("1,000");
    await page.getByLabel("Daily limit (EUR)").fill("2000000000");
    await page.getByRole("button", { name: "Save limits" }).click();
    await page.getByRole("alert").filter({ hasText: "from 0 to 1000000000" }).waitFor();
    await page.getByLabel("Daily limit (EUR)").fill("5,00");
    await page.getByRole("button", { name: "Save limits" }).click();
    await page.getByRole("progressbar", { name: "Daily limit: Workspace demo" }).waitFor();
    const items = page.getByRole("main").getByRole("listitem");
    await expect.poll(() => items.count()).toBe(4);
    expect(await items.nth(1).textContent()).toContain("backend");
    expect(await items.nth(1).textContent()).toContain("Limit reached");
    expect(await items.nth(2).textContent()).toMatch(/^research.*Near limit/);
    expect(await items.nth(3).textContent()).toContain(MEMBER_EMAIL);
    const month = items.nth(2).getByText("This month (UTC)").locator("..");
    expect(await month.locator("[title]").first().getAttribute("title")).toBe(`${amountOf(spent)} EUR`);
    await month.getByTitle(`${near} EUR`).waitFor();
    await month.getByText("90%").waitFor();
    await page.getByRole("button", { name: "Edit limits for research" }).click();
    await page.getByLabel("Monthly limit (EUR)").fill("");
    await page.getByRole("button", { name: "Save limits" }).click();
    await expect.poll(async () => (await limits(research)).month.limit).toBeNull();
    await page.reload();
    await items.nth(2).waitFor();
    await screenshot(page, "limits");
    await expectAccessible(page);
    expect(await limits("")).toMatchObject({ day: { limit: "5.00" }, month: { limit: null } });
    const { email } = await portal.person("member");
    await portal.gateway.manage("PATCH", "/workspaces/demo/key-policy", { personal_keys: true });
    await portal.gateway.manage("POST", "/workspaces/demo/keys", { name: "of my own", member: email });
    const member = await portal.page("member");
    await member.goto(portal.at("limits"));
    await member.getByRole("heading", { name: "You", exact: true }).waitFor();
    await member.getByRole("listitem").filter({ hasText: "of my own" }).waitFor();
    expect(await member.getByRole("button", { name: /limit/ }).count()).toBe(0);
  });

  test("PORTAL-05 saving a limit of the day leaves the one of the month that another admin set meanwhile", async () => {
    const { slug } = await portal.gateway.tenant();
    const limits = `/workspaces/${slug}/limits`;
    const page = await portal.page("operator");
    await page.goto(portal.at("limits", slug));
    await expectAccessible(page);
    await page.getByRole("button", { name: /^Set limit for Workspace/ }).click();
    await page.getByLabel("Daily limit (EUR)").fill("5.00");
    await portal.gateway.manage("PUT", limits, { month: "50.00" });
    await page.getByRole("button", { name: "Save limits" }).click();
    await page.getByText(/^Limits for .* saved$/).waitFor();
    expect(await portal.gateway.manage("GET", limits)).toMatchObject({
      day: { limit: "5.00" },
      month: { limit: "50.00" },
    });
  });
});
