import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGateway } from "../support/gateway.ts";
import { changedProvider } from "../support/small-catalogue.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

describe.skipIf(!hasChromium)("the catalogue in the browser", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  }, 120_000);
  afterAll(() => portal.close());

  test("PORTAL-07 anyone searches, filters and sorts models, and the address keeps it", async () => {
    const page = await portal.page("visitor");
    await page.goto(`${portal.origin}/app/models`);
    const table = page.getByRole("table", { name: "Models" });
    await table.getByRole("row").nth(5).waitFor();
    await screenshot(page, "models");
    await page.getByLabel("Search", { exact: true }).fill("mistral small");
    await page.waitForURL(/q=mistral\+small/);
    await page.getByLabel("Sovereignty").selectOption("L3");
    await page.waitForURL(/level=L3/);
    await page.getByText("More filters").click();
    await page.getByLabel("Context").selectOption("32000");
    await page.getByLabel("Sort by").selectOption("price");
    await page.waitForURL(/sort=price/);
    await table.getByText("mistral/mistral-small-2506").waitFor();
    await expect.poll(() => table.getByText("anthropic/").count()).toBe(0);
    // As seen through a shared link.
    const other = await portal.page("visitor");
    await other.goto(page.url());
    await other.getByText("mistral/mistral-small-2506").waitFor();
    expect(await other.getByLabel("Sovereignty").inputValue()).toBe("L3");
    await expectAccessible(other);
    await page.getByLabel("Search", { exact: true }).fill("no such model");
    await page.getByText("No models match").waitFor();
    await page.getByRole("button", { name: "Clear all filters" }).last().click();
    await table.getByRole("row").nth(5).waitFor();
    expect(new URL(page.url()).searchParams.has("q")).toBe(false);
  });

  test("PORTAL-07 a model shows every endpoint with its level, price and evidence", async () => {
    const { body } = await portal.gateway.call("", "/v1/public/models/mistral/mistral-small-2506");
    const page = await portal.page("visitor");
    await page.goto(`${portal.origin}/app/models/mistral/mistral-small-2506`);
    await page.getByRole("heading", { level: 1, name: body.name }).waitFor();
    expect(await page.title()).toContain(body.name);
    expect(await page.locator("details").count()).toBe(body.endpoint_count);
    const first = page.locator("details").first();
    if ((await first.getAttribute("open")) === null) await first.locator("summary").click();
    await first.getByRole("heading", { name: "Evidence for L3" }).waitFor();
    await first.getByText("Inference in the EEA only").waitFor();
    expect(await first.getByText(/^(Verified|Claimed|Doubtful)$/).count()).toBeGreaterThan(4);
    expect(await first.getByText(/Read \d+ \w+ \d{4}/).count()).toBeGreaterThan(4);
    await first.getByRole("heading", { name: "Price history" }).waitFor();
    await first.getByText(/^Since \d+ \w+ \d{4}$/).waitFor();
    await first.getByText("per 1M tokens").first().waitFor();
    // Synonyms are merged, and visitors see no measurements.
    const about = page
      .getByRole("region", { name: "About" })
      .or(page.locator("section", { hasText: body.description }));
    await about.first().waitFor();
    expect(await page.getByRole("link", { name: "Vision", exact: true }).count()).toBe(1);
    expect(await page.getByText("Image input (vision)").count()).toBe(0);
    expect(await first.getByRole("heading", { name: "Measured" }).count()).toBe(0);
    await page.getByLabel("Currency").selectOption("USD");
    await page.waitForURL(/currency=USD/);
    await first.getByText(/US\$/).first().waitFor();
    await screenshot(page, "model");
    await expectAccessible(page);
  });

  test("PORTAL-07 a model has code for its surface with the base URL of this gateway", async () => {
    const page = await portal.page("visitor");
    const codeFor = async (model: string, language: string) => {
      await page.goto(`${portal.origin}/app/models/${model}`);
      await page.getByRole("tab", { name: language, exact: true }).click();
      return page.getByRole("tabpanel").getByRole("region").textContent();
    };
    const chat = await codeFor("mistral/mistral-small-2506", "curl");
    expect(chat).toContain(`${portal.origin}/v1/chat/completions`);
    expect(chat).toContain('"model": "mistral/mistral-small-2506"');
    expect(await codeFor("baai/bge-m3", "Python")).toContain("client.embeddings.create");
    expect(await codeFor("sandbox/listen", "TypeScript")).toContain("client.audio.transcriptions.create");
  });

  test("PORTAL-07 endpoints show measured uptime and latency with their window once there is traffic", async () => {
    const page = await portal.page("operator");
    await page.goto(`${portal.origin}/app/models/sandbox/embed`);
    const card = page.locator("details").first();
    await card.locator("summary").click();
    await card.getByText("No data yet.").waitFor();
    const { key } = await portal.gateway.tenant();
    const body = { model: "sandbox/embed", input: "Hello" };
    for (let count = 0; count < 3; count++)
      expect((await portal.gateway.call(key, "/v1/embeddings", { body })).status).toBe(200);
    await page.reload();
    const measured = page.locator("details", { hasText: "Uptime" }).first();
    await page.getByText("Uptime").first().waitFor({ state: "attached" });
    if ((await measured.getAttribute("open")) === null) await measured.locator("summary").click();
    await measured.getByText("100%").waitFor();
    await measured.getByText(/p50 \d+ ms, p95 \d+ ms/).waitFor();
    await measured.getByText(/3 requests since .* Latency from the last 3 responses\./).waitFor();
    await expectAccessible(page);
  });

  test("PORTAL-07 up to four models are compared side by side, and the URL keeps the selection", async () => {
    const page = await portal.page("visitor", { allow: [/status of 404/] });
    await page.goto(`${portal.origin}/app/models/mistral/mistral-small-2506`);
    await page.getByRole("link", { name: "Compare" }).click();
    await page.getByRole("heading", { level: 1, name: "Compare models" }).waitFor();
    const add = async (text: string, name: string) => {
      await page.getByLabel("Add a model").fill(text);
      await page.getByRole("list", { name: "Models found" }).getByRole("button", { name }).first().click();
      await page.getByRole("columnheader", { name }).waitFor();
    };
    await add("gpt-oss-120b", "gpt-oss-120b");
    await add("claude-opus-4-8", "Claude Opus 4.8");
    await add("gemini-2.5-pro", "Gemini 2.5 Pro");
    // The picker is hidden once four models are selected.
    await expect.poll(() => page.getByLabel("Add a model").count()).toBe(0);
    for (const name of ["Levels", "Countries", "Lowest price", "Context", "Capabilities", "Quality"])
      await page.getByRole("rowheader", { name, exact: true }).waitFor();
    await screenshot(page, "compare");
    await expectAccessible(page);
    const other = await portal.page("visitor");
    await other.goto(page.url());
    await other.getByRole("columnheader", { name: "Gemini 2.5 Pro" }).waitFor();
    expect(await other.getByRole("columnheader").count()).toBe(5);
    await other.getByRole("button", { name: "Remove Gemini 2.5 Pro" }).click();
    await expect.poll(() => other.getByRole("columnheader").count()).toBe(4);
    expect(new URL(other.url()).searchParams.get("models")).not.toContain("gemini");
    await page.goto(`${portal.origin}/app/models/compare?models=unknown/nothing`);
    await page.getByText("Model not found: unknown/nothing").waitFor();
    await page.getByRole("button", { name: "Remove from comparison" }).click();
    await page.getByText("No models selected").waitFor();
  });

  test("PORTAL-07 inside a workspace the pages say what its policy allows, and lead to the playground", async () => {
    const page = await portal.page("operator");
    await portal.gateway.manage("PATCH", "/workspaces/demo/policy", { floor: "L2" });
    await page.goto(`${portal.origin}/app/models/sandbox/chat`);
    const us = page.locator("details", { hasText: "sandbox-us" });
    await us.getByText("Excluded by policy").waitFor();
    await page.locator("details", { hasText: "sandbox-de" }).getByText("Available", { exact: true }).waitFor();
    const link = page.getByRole("link", { name: "Try in playground" });
    expect(await link.getAttribute("href")).toBe("/app/w/demo/playground?surface=chat&model=sandbox%2Fchat");
    await page.goto(`${portal.origin}/app/models?q=sandbox/chat`);
    await page.getByRole("table").getByText("Available", { exact: true }).first().waitFor();
    await portal.gateway.manage("PATCH", "/workspaces/demo/policy", { floor: null });
  });

  test("PORTAL-07 providers have evidence, regions and certificates; the levels are explained", async () => {
    const page = await portal.page("visitor");
    await page.goto(`${portal.origin}/app/providers?level=L3`);
    await screenshot(page, "providers");
    await page.getByRole("link", { name: /Scaleway/ }).click();
    await page.getByRole("heading", { level: 1, name: "Scaleway" }).waitFor();
    for (const title of ["About", "Evidence", "Regions"])
      await page.getByRole("heading", { name: title, exact: true }).waitFor();
    await page.getByText("Certifications").waitFor();
    const ownership = page.locator("dl > div", { hasText: "wholly owned subsidiary of the iliad group" });
    await ownership.getByText("Claimed").first().waitFor();
    await ownership.getByText("Third-party source").first().waitFor();
    await ownership.getByText(/^Missing: A Scaleway or iliad page/).waitFor();
    await screenshot(page, "provider");
    await expectAccessible(page);
    await page.getByRole("link", { name: "About sovereignty levels" }).click();
    await page.getByRole("heading", { level: 1, name: "Sovereignty levels" }).waitFor();
    await page.getByRole("listitem").nth(5).waitFor();
    expect(await page.getByText("Verified").count()).toBeGreaterThan(1);
    await screenshot(page, "sovereignty");
    await expectAccessible(page);
  });

  test("PORTAL-07 evidence that was read long ago is marked, on the model and on the provider", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "old-catalogue-"));
    const files = changedProvider((file) => {
      for (const one of file.evidence ?? []) Object.assign(one, { read: "2024-01-31" });
    });
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      writeFileSync(path.join(folder, name), JSON.stringify(content));
    }
    const old = await startGateway({ env: { GATEWAY_CATALOGUE_DIR: folder, GATEWAY_SANDBOX: "off" } });
    const page = await portal.browser.newPage({ locale: "en-GB" });
    try {
      await page.goto(`${old.url}/app/models/lab/writer`);
      await page.getByText("Stale evidence").first().waitFor();
      await page.getByText("Read 31 Jan 2024").first().waitFor();
      await page.goto(`${old.url}/app/providers/acme`);
      await page.getByText("Stale evidence").first().waitFor();
      await page.getByText("Stale", { exact: true }).first().waitFor();
    } finally {
      await page.close();
      await old.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("PORTAL-07 what is not there says so and leads back", async () => {
    const page = await portal.page("visitor", { allow: [/status of 404/] });
    await page.goto(`${portal.origin}/app/models/unknown/nothing`);
    await page.getByText("Model not found").waitFor();
    await page.getByRole("link", { name: "All models" }).click();
    await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
  });
});
