import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { moneyText } from "../../portal/src/format/money.ts";
import { amountOf, nanosOf } from "../../portal/src/format/nanos.ts";
import { numberText } from "../../portal/src/format/number.ts";
import { durationText } from "../../portal/src/format/time.ts";
import type { Json } from "../support/gateway.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { MEMBER_EMAIL, openPast, type Past } from "./support/past.ts";
import { screenshot } from "./support/screenshot.ts";

/** As the browser of these tests says it. */
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 }).format;

const share = new Intl.NumberFormat("en-GB", { style: "percent", maximumFractionDigits: 1 }).format;

describe.skipIf(!hasChromium)("usage in the portal", () => {
  let portal: Past;
  beforeAll(async () => {
    portal = await openPast({ GATEWAY_OPERATOR_CONTACT: "billing@example.eu" });
  });
  afterAll(() => portal?.close());

  const totals = (page: Page) => page.getByRole("table", { name: "Totals" });
  const legend = (page: Page) => page.locator("figure ul button");
  const report = (group: string): Promise<Json> =>
    portal.gateway.manage("GET", `/workspaces/demo/usage?group=${group}&by=day`);
  const sumOf = (rows: readonly Json[], name: string) => rows.reduce((sum, row) => sum + row[name], 0);
  const costOf = (rows: readonly Json[]) => amountOf(rows.reduce((sum, { cost }) => sum + nanosOf(cost), 0n));
  const cellOf = (line: Json, column: string) => {
    const [, name = "", percentile = ""] = /^(\w+)_(p\d\d)$/.exec(column) ?? [];
    if (percentile !== "") return line[name]?.[percentile];
    if (column === "cache_share") return line.input_tokens === 0 ? null : line.cached_tokens / line.input_tokens;
    return column === "percentile_requests" ? (line.latency_ms?.requests ?? 0) : line[column];
  };
  const threeOf = ({ p50, p95, p99 }: Json) => [p50, p95, p99].map(durationText).join(" / ");
  const tailOf = ({ p95, p99 }: Json) => `p95 ${durationText(p95)} · p99 ${durationText(p99)}`;

  test("PORTAL-04 spend is drawn by key, several are picked to compare, and all of it stands in the address", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("usage"));
    await totals(page).getByText("backend").waitFor();
    expect(await page.title()).toContain("Usage");
    await expect
      .poll(() => legend(page).allTextContents())
      .toEqual(["backend", "support desk", "research", "nightly batch"]);
    const { data, total } = await report("key");
    const heights = await page
      .locator("figure svg rect")
      .evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute("height"))));
    expect(heights.filter((height) => height > 0)).toHaveLength(data.length);
    const figureOf = (label: string) =>
      page.locator(".label-mark", { hasText: new RegExp(`^${label}$`) }).locator("..");
    expect(
      await figureOf("Spend")
        .getByTitle(`${costOf(data)} EUR`)
        .count(),
    ).toBe(1);
    expect(await figureOf("Input tokens").textContent()).toBe(
      `Input tokens${compact(sumOf(data, "input_tokens"))}${share(sumOf(data, "cached_tokens") / sumOf(data, "input_tokens"))} cached`,
    );
    expect(await figureOf("Output tokens").textContent()).toBe(
      `Output tokens${compact(sumOf(data, "output_tokens"))}${compact(sumOf(data, "reasoning_tokens"))} reasoning`,
    );
    expect(await figureOf("Requests").textContent()).toContain(`Requests${numberText(sumOf(data, "requests"))}`);
    expect(await figureOf("Errors").textContent()).toContain(`Errors${sumOf(data, "errors")}`);
    // LOG-21: of the whole period, from merged sketches.
    expect(total.latency_ms.requests).toBe(sumOf(data, "requests") - sumOf(data, "errors"));
    expect(await figureOf("Latency p50").textContent()).toBe(
      `Latency p50${durationText(total.latency_ms.p50)}${tailOf(total.latency_ms)}`,
    );
    expect(await figureOf("TTFB p50").textContent()).toBe(
      `TTFB p50${durationText(total.ttfb_ms.p50)}${tailOf(total.ttfb_ms)}`,
    );
    await screenshot(page, "usage");
    await expectAccessible(page);
    await totals(page).getByRole("checkbox", { name: "Compare backend" }).check();
    await totals(page).getByRole("checkbox", { name: "Compare research" }).check();
    await page.getByRole("radio", { name: "Lines" }).click();
    await page.getByLabel("Metric", { exact: true }).selectOption("Requests");
    await page.waitForURL(/metric=requests/);
    expect(new URL(page.url()).searchParams.get("pick")?.split(",")).toHaveLength(2);
    // The shared link shows the same view.
    const sent = await portal.page("operator");
    await sent.goto(page.url());
    await totals(sent).getByText("backend").waitFor();
    await expect.poll(async () => (await legend(sent).allTextContents()).toSorted()).toEqual(["backend", "research"]);
    expect(await totals(sent).getByRole("checkbox", { name: "Compare research" }).isChecked()).toBe(true);
    const lines = await sent
      .locator("figure svg > path")
      .evaluateAll((all) => all.map((line) => line.getAttribute("d")));
    expect([new Set(lines).size, lines.filter((line) => line?.includes("L"))]).toEqual([2, lines]);
    await screenshot(sent, "usage-compared");
    await sent.getByRole("button", { name: "Show all" }).click();
    await expect.poll(() => legend(sent).count()).toBe(4);
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
    const { data, groups } = await report("model");
    const distributions = groups.find(({ name }: Json) => name === "deepseek/deepseek-v3");
    const own = data.filter(({ name }: Json) => name === "deepseek/deepseek-v3");
    const cells = await row.getByRole("cell").allTextContents();
    await expect.poll(() => row.getByTitle(`${costOf(own)} EUR`).count()).toBe(1);
    expect(Number.parseFloat(cells[2]?.replace("Share", "") ?? "")).toBeCloseTo(
      (100 * Number(costOf(own))) / Number(costOf(data)),
      0,
    );
    expect(cells.slice(3)).toEqual([
      `Requests${sumOf(own, "requests")}`,
      `Errors${sumOf(own, "errors")}`,
      `Input${compact(sumOf(own, "input_tokens"))}`,
      `Output${compact(sumOf(own, "output_tokens"))}`,
      `Cached${share(sumOf(own, "cached_tokens") / sumOf(own, "input_tokens"))}`,
      `Reasoning${compact(sumOf(own, "reasoning_tokens"))}`,
      `Latency p50 / p95 / p99${threeOf(distributions.latency_ms)}`,
      `TTFB p50 / p95 / p99${threeOf(distributions.ttfb_ms)}`,
      `Tokens/s${numberText(distributions.tokens_per_second.p50)}`,
    ]);
    // What is drawn stands in a table as well: the days in order, a column for each line.
    const drawn = page.getByRole("table", { name: "Spend by day", includeHidden: true });
    const lines = await drawn.locator("thead th").allTextContents();
    const column = await drawn.locator(`tbody td:nth-of-type(${lines.indexOf("deepseek/deepseek-v3") + 1})`);
    const days = (await column.allTextContents()).filter((text) => text !== moneyText("0", "EUR", "price"));
    expect(days).toEqual(own.map(({ cost }: Json) => moneyText(cost, "EUR", "price")));
    await totals(page).getByRole("button", { name: "Requests" }).click();
    await expect.poll(() => totals(page).getByRole("row").nth(1).textContent()).toContain("google/gemma-3-27b");
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "CSV" }).click();
    const file = await (await download).path();
    const [head, ...saved] = (await readFile(file, "utf8")).trimEnd().split("\r\n");
    const columns = head?.split(",") ?? [];
    expect(saved).toEqual(
      data.map((line: Json) =>
        columns
          .map((name) => cellOf(line, name) ?? "")
          .join(",")
          .replace(/,$/, ",EUR"),
      ),
    );
    expect(head).toBe(
      "start,name,label,requests,errors,input_tokens,cached_tokens,cache_write_tokens,output_tokens,reasoning_tokens,characters,seconds,cost,timed_requests,total_ms,streamed_requests,first_byte_ms,cache_share,latency_ms_p50,latency_ms_p95,latency_ms_p99,ttfb_ms_p50,ttfb_ms_p95,ttfb_ms_p99,tokens_per_second_p50,tokens_per_second_p95,tokens_per_second_p99,percentile_requests,currency",
    );
  });

  test("PORTAL-04 keys, models, providers, apps and members are compared, and each leads to its requests", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("usage"));
    await totals(page).getByRole("checkbox", { name: "Compare backend" }).check();
    for (const group of ["Member", "Provider", "App", "Model", "Key"]) {
      await page.getByLabel("Group by").selectOption(group);
      const { data } = await report(group.toLowerCase());
      const byName = Map.groupBy<string, Json>(data, ({ label, name }) => label ?? name ?? "Workspace keys");
      const wanted = [...byName].map(([name, rows]) => [name, `${costOf(rows)} EUR`]).toSorted();
      const shown = () =>
        totals(page)
          .locator("tbody tr")
          .evaluateAll((rows) =>
            rows.map((row) => [
              row.querySelector("td [title]")?.getAttribute("title"),
              row.querySelector("td:nth-of-type(2) [title]")?.getAttribute("title"),
            ]),
          );
      await expect.poll(async () => (await shown()).toSorted(), { message: group }).toEqual(wanted);
      await expect
        .poll(async () => (await legend(page).allTextContents()).toSorted())
        .toEqual([...byName.keys()].toSorted());
    }
    await page.getByLabel("Group by").selectOption("Member");
    await page.getByRole("link", { name: `View requests of ${MEMBER_EMAIL}` }).click();
    const rows = page.getByRole("table", { name: "Requests" }).getByRole("row");
    await rows.filter({ hasText: "google/gemma-3-27b" }).first().waitFor();
    await expect.poll(() => rows.filter({ hasText: "mistral/mistral-large" }).count()).toBe(0);
  });

  test("PORTAL-04 own ranges, hours, and nothing to show: each says what to do next", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("usage?range=24h"));
    await totals(page).getByText("backend").waitFor();
    expect(await page.getByRole("radio", { name: "Hour" }).isChecked()).toBe(true);
    await page.getByRole("img", { name: "Spend by hour" }).waitFor();
    await page.getByLabel("Traffic").selectOption("Test keys");
    await page.getByText("No usage in this period").waitFor();
    await page.getByLabel("Traffic").selectOption("Live keys");
    await totals(page).getByText("backend").waitFor();
    await page.getByRole("radio", { name: "Custom" }).click();
    await page.getByLabel("From").fill("2020-01-01");
    await page.getByLabel("To", { exact: true }).fill("2020-01-05");
    await page.getByText("No usage in this period").waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({
      from: "2020-01-01",
      to: "2020-01-05",
    });
    await page.getByRole("button", { name: "Include test keys" }).click();
    await page.waitForURL((url) => !url.searchParams.has("env"));
  });

  test("PORTAL-04 a member sees their own keys' usage only", async () => {
    const page = await portal.page("member");
    await page.goto(portal.at("usage"));
    await page.getByText("No usage in this period").waitFor();
    await page.getByText("Usage and spend of your keys").waitFor();
    expect(await page.getByText("backend").count()).toBe(0);
  });

  test("PORTAL-05 without a payment adapter the wallet says whom to ask, and lets the operator book funds", async () => {
    const operator = await portal.page("operator");
    await operator.goto(portal.at("wallet?new=1"));
    await screenshot(operator, "top-up-operator");
    await operator
      .getByRole("dialog")
      .getByLabel(/Amount/)
      .waitFor();
    await operator.getByRole("dialog").getByText("Online payment isn't set up").waitFor();
    expect(await operator.getByText("bin/gateway wallet credit").count()).toBe(0);
    const page = await portal.page("admin");
    await page.goto(portal.at("wallet?tab=orders"));
    const contact = page.getByRole("link", { name: "billing@example.eu" });
    expect(await contact.getAttribute("href")).toBe("mailto:billing@example.eu");
    await page.getByText("bin/gateway wallet credit demo 50.00").waitFor();
  });
});
