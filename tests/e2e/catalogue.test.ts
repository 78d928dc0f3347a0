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
    await first.getByRole("heading", { name: "Evidence" }).waitFor();
    expect(await first.getByText(/Read \d+ \w+ \d{4}/).count()).toBeGreaterThan(0);
    await first.getByText("per 1M tokens").first().waitFor();
    await page.getByLabel("Currency").selectOption("USD");
    await page.waitForURL(/currency=USD/);
    await first.getByText(/US\$/).first().waitFor();
    await screenshot(page, "model");
    await expectAccessible(page);
  });

  test("PORTAL-07 inside a workspace the pages say what its policy allows, and lead to the playground", async () => {
    const page = await portal.page("operator");
    await portal.gateway.manage("PATCH", "/workspaces/demo/policy", { floor: "L2" });
    await page.goto(`${portal.origin}/app/models/sandbox/chat`);
    const us = page.locator("details", { hasText: "sandbox-us" });
    await us.getByText("Excluded by your policy").waitFor();
    await page.locator("details", { hasText: "sandbox-de" }).getByText("Allowed by your policy").waitFor();
    const link = page.getByRole("link", { name: "Try in playground" });
    expect(await link.getAttribute("href")).toBe("/app/w/demo/playground?surface=chat&model=sandbox%2Fchat");
    await page.goto(`${portal.origin}/app/models?q=sandbox/chat`);
    await page
      .getByText(/^\d of \d$/)
      .first()
      .waitFor();
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
    await screenshot(page, "provider");
    await expectAccessible(page);
    await page.getByRole("link", { name: "About sovereignty levels" }).click();
    await page.getByRole("heading", { level: 1, name: "Sovereignty levels" }).waitFor();
    await page.getByRole("listitem").nth(5).waitFor();
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
