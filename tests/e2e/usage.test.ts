import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPast, type Past } from "./support/past.ts";
import { screenshot } from "./support/screenshot.ts";

describe.skipIf(!hasChromium)("usage in the portal", () => {
  let portal: Past;
  beforeAll(async () => {
    portal = await openPast({ GATEWAY_OPERATOR_CONTACT: "billing@example.eu" });
  }, 60_000);
  afterAll(() => portal?.close());

  const totals = (page: Page) => page.getByRole("table", { name: "Totals" });
  const legend = (page: Page) => page.locator("figure ul button");

  test("PORTAL-04 spend is drawn by key, several are picked to compare, and all of it stands in the address", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("usage"));
    await totals(page).getByText("backend").waitFor();
    expect(await page.title()).toContain("Usage");
    expect(await legend(page).allTextContents()).toEqual(["backend", "support desk", "research", "nightly batch"]);
    await screenshot(page, "usage");
    await expectAccessible(page);
    await totals(page).getByRole("checkbox", { name: "Compare backend" }).check();
    await totals(page).getByRole("checkbox", { name: "Compare research" }).check();
    await page.getByRole("radio", { name: "Lines" }).click();
    await page.getByLabel("Show", { exact: true }).selectOption("Requests");
    await page.waitForURL(/metric=requests/);
    expect(new URL(page.url()).searchParams.get("pick")?.split(",")).toHaveLength(2);
    // Somebody who is sent the address sees the same.
    const sent = await portal.page("operator");
    await sent.goto(page.url());
    await totals(sent).getByText("backend").waitFor();
    expect((await legend(sent).allTextContents()).toSorted()).toEqual(["backend", "research"]);
    expect(await totals(sent).getByRole("checkbox", { name: "Compare research" }).isChecked()).toBe(true);
    await screenshot(sent, "usage-compared");
  });

  test("PORTAL-04 eight lines that are compared have eight colours", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("usage"));
    await totals(page).getByText("backend").waitFor();
    const colours = await page.evaluate<string[]>(
      `[1, 2, 3, 4, 5, 6, 7, 8].map((one) => getComputedStyle(document.body).getPropertyValue("--color-c" + one))`,
    );
    expect(new Set(colours).size).toBe(8);
    expect(colours).not.toContain("");
  });

  test("PORTAL-12 on a tablet no cell of the log runs into its neighbour, and models can be read", async () => {
    const page = await portal.page("operator", { viewport: { width: 768, height: 900 } });
    await page.goto(portal.at("requests"));
    const cells = page.getByRole("table", { name: "Requests" }).getByRole("cell");
    await cells.first().waitFor();
    const [across, cut] = await page.evaluate<string[][]>(`[
      [...document.querySelectorAll("td")].filter((cell) => cell.scrollWidth > cell.clientWidth + 1),
      [...document.querySelectorAll("td:first-child a > span > :first-child bdi")].filter((name) => name.scrollWidth > name.clientWidth),
    ].map((found) => found.map((one) => one.textContent))`);
    expect(across).toEqual([]);
    expect(cut).toEqual([]);
  });

  test("PORTAL-04 totals are those of the roll-ups, and the file has every row", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("usage?range=90d&group=model"));
    const row = totals(page).getByRole("row", { name: /deepseek/ });
    await row.waitFor();
    const report = await portal.gateway.manage("GET", "/workspaces/demo/usage?group=model&by=day");
    const own = report.data.filter(({ name }: { name: string }) => name === "deepseek/deepseek-v3");
    const requests = own.reduce((sum: number, one: { requests: number }) => sum + one.requests, 0);
    expect(await row.getByRole("cell").nth(3).textContent()).toContain(String(requests));
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "CSV" }).click();
    const file = await (await download).path();
    const lines = (await readFile(file, "utf8")).trimEnd().split("\r\n");
    expect(lines).toHaveLength(report.data.length + 1);
    expect(lines[0]).toBe(
      "start,name,label,requests,errors,input_tokens,cached_tokens,cache_write_tokens,output_tokens,reasoning_tokens,characters,seconds,cost,timed_requests,total_ms,streamed_requests,first_byte_ms,currency",
    );
  });

  test("PORTAL-04 own ranges, hours, and nothing to show: each says what to do next", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("usage?range=24h"));
    await totals(page).getByText("backend").waitFor();
    expect(await page.getByRole("radio", { name: "Hour" }).isChecked()).toBe(true);
    await page.getByRole("radio", { name: "Own" }).click();
    await page.getByLabel("From").fill("2020-01-01");
    await page.getByLabel("To", { exact: true }).fill("2020-01-05");
    await page.getByText("Nothing was used in this time").waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({
      from: "2020-01-01",
      to: "2020-01-05",
    });
    await page.getByRole("button", { name: "Count test keys too" }).click();
    await page.waitForURL(/env=all/);
  });

  test("PORTAL-04 a member sees their own keys' usage only", async () => {
    const page = await portal.page("member");
    await page.goto(portal.at("usage"));
    await page.getByText("Nothing was used in this time").waitFor();
    await page.getByText("What your own keys used").waitFor();
    expect(await page.getByText("backend").count()).toBe(0);
  });

  test("PORTAL-05 without a payment adapter the wallet says whom to ask, and leads the operator to where it is done", async () => {
    const operator = await portal.page("operator");
    await operator.goto(portal.at("wallet?new=1"));
    await screenshot(operator, "top-up-operator");
    await operator.getByRole("dialog").getByRole("link", { name: "Put money in" }).click();
    await operator.getByRole("button", { name: "Actions for demo" }).waitFor();
    expect(await operator.getByText("bin/gateway wallet credit").count()).toBe(0);
    const page = await portal.page("admin");
    await page.goto(portal.at("wallet?tab=orders"));
    const contact = page.getByRole("link", { name: "billing@example.eu" });
    expect(await contact.getAttribute("href")).toBe("mailto:billing@example.eu");
    await page.getByText("bin/gateway wallet credit demo 50.00").waitFor();
  });
});
