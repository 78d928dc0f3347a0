import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openOperator, rowOf } from "./support/operator.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

describe.skipIf(!hasChromium)("the operator's overview, configuration and master key", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal({
      GATEWAY_RPM_LIVE: "450",
      GATEWAY_NO_SUCH_SETTING: "1",
      PROVIDER_DEEPINFRA_API_KEY: "canary-5d41402a",
    });
  });
  afterAll(() => portal.close());

  test("PORTAL-10 only operators see these screens", async () => {
    const page = await openOperator(portal, "/workspaces", "member");
    await page.getByText("Only operators can view this page").waitFor();
    expect(await page.getByRole("link", { name: "Endpoint health" }).count()).toBe(0);
    expect(await page.getByRole("table").count()).toBe(0);
  });

  test("PORTAL-10 the overview says whether the gateway is well, check by check", async () => {
    const page = await openOperator(portal, "");
    await page.getByText(/^(Healthy|\d+ warnings?)$/).waitFor();
    const checks = page.getByRole("list", { name: "Checks" });
    await checks.getByText("the ledger balances").waitFor();
    await page.getByRole("button", { name: "Run checks" }).click();
    await expectAccessible(page);
    await screenshot(page, "operator-overview");
    await checks.getByRole("link", { name: "Review endpoints" }).click();
    await page.getByRole("heading", { name: "Endpoint health" }).waitFor();
  });

  test("PORTAL-10 configuration: values and where they come from, secrets as set, a search in the address", async () => {
    const page = await openOperator(portal, "/configuration?from=set");
    await rowOf(page, "GATEWAY_RPM_LIVE").getByText("450").waitFor();
    await rowOf(page, "PROVIDER_DEEPINFRA_API_KEY").getByText("Set (hidden)").waitFor();
    await page.getByText("GATEWAY_NO_SUCH_SETTING").waitFor();
    await expectAccessible(page);
    await screenshot(page, "operator-configuration");
    await page.getByLabel("Source").selectOption("");
    await page.getByRole("searchbox").fill("operator token");
    await page.getByRole("row", { name: "GATEWAY_ADMIN_TOKEN Copy" }).waitFor();
    expect(page.url()).toContain("q=operator");
    expect(await page.content()).not.toContain(portal.gateway.adminToken);
  });

  test("PORTAL-10 the master key is rotated after a question", async () => {
    await portal.gateway.manage("PUT", "/workspaces/demo/providers/mistral", {
      key: "own-key-4b825dc6",
      skip_test: true,
    });
    const page = await openOperator(portal, "/master-key");
    const current = () => rowOf(page, "current").getByRole("cell").first().textContent();
    await rowOf(page, "current").waitFor();
    const before = await current();
    await page.getByRole("button", { name: "Rotate master key" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Rotate master key" }).click();
    await page.getByText("All data keys are wrapped with the current master key.").waitFor();
    await expect.poll(current).not.toBe(before);
    await expectAccessible(page);
    await screenshot(page, "operator-master-key");
  });

  test("PORTAL-01 integrations show export destinations and single sign-on, and how to turn them on", async () => {
    const page = await openOperator(portal, "/integrations");
    for (const title of ["OpenTelemetry (OTLP)", "Webhook", "Files", "Single sign-on"])
      await page.getByRole("heading", { name: title }).waitFor();
    await page.getByText("OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318").waitFor();
    await page.getByText(/\/manage\/auth\/callback\/oidc$/).waitFor();
    await expectAccessible(page);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  });
});
