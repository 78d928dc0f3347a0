import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { chatBody, connectedTo } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { HELLO, openOperator, rowOf } from "./support/operator.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

describe.skipIf(!hasChromium)("the operator's endpoints, credentials, probes and rates", () => {
  let portal: Portal;
  let upstream: Upstream;
  beforeAll(async () => {
    upstream = await startUpstream({ status: 500, json: { error: { message: "no" } } });
    portal = await openPortal({
      ...connectedTo(new Map([["deepinfra", upstream]])),
      GATEWAY_ASIDE_FAILURES: "1",
      GATEWAY_ASIDE_MS: "600000",
    });
    const { gateway } = portal;
    for (let at = 0; at < 3; at += 1) await gateway.call(gateway.key, "/v1/chat/completions", { body: HELLO });
    const { key } = await gateway.tenant();
    await gateway.call(key, "/v1/chat/completions", { body: chatBody() });
  });
  afterAll(async () => {
    await portal.close();
    await upstream.close();
  });

  test("PORTAL-10 endpoints: what failed is aside with its time, filters and order stand in the address", async () => {
    const page = await openOperator(portal, "/health?show=trouble");
    const failing = rowOf(page, "deepinfra");
    await failing.getByText("Circuit open").filter({ visible: true }).waitFor();
    await failing.getByText(/^Next probe in \d|^Probe on next request/).waitFor();
    await page.getByLabel("Show").selectOption("used");
    await page.waitForURL(/show=used/);
    await rowOf(page, "sandbox").first().waitFor();
    await page.getByRole("button", { name: "Served" }).click();
    await page.locator('th[aria-sort="ascending"]').waitFor();
    await page.getByRole("button", { name: "Served" }).click();
    await page.waitForURL(/sort=-served/);
    await expect.poll(() => page.getByRole("row").nth(1).textContent()).toContain("sandbox/chat");
    await expectAccessible(page);
    await screenshot(page, "operator-health");
    await page.getByRole("row").nth(1).getByRole("link").click();
    await page.getByRole("dialog").getByText("Planning estimate").waitFor();
    await page.waitForURL(/endpoint=sandbox/);
  });

  test("PORTAL-10 providers: which setting connects one, and a test of the credential", async () => {
    const page = await openOperator(portal, "/providers?q=sandbox-de");
    await rowOf(page, "simulated").first().waitFor();
    await page.getByRole("searchbox").fill("mistral");
    await rowOf(page, "Workspace keys only").getByText("PROVIDER_MISTRAL_API_KEY").waitFor();
    await page.getByRole("button", { name: /^Connect / }).click();
    await page.getByRole("dialog").getByText("PROVIDER_MISTRAL_API_KEY_FILE=").waitFor();
    await page.keyboard.press("Escape");
    upstream.always({ status: 401, json: { error: { message: "no" } } });
    await page.getByRole("searchbox").fill("deepinfra");
    await rowOf(page, "connected")
      .getByRole("button", { name: /^Test / })
      .click();
    await page.getByRole("dialog").getByText("Rejected", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Done" }).click();
    await expectAccessible(page);
    await page.getByRole("searchbox").fill("s");
    await screenshot(page, "operator-credentials");
  });

  test("PORTAL-10 probes: what is proven, one asked again, all of them with progress, and the history", async () => {
    const page = await openOperator(portal, "/probes");
    await rowOf(page, "proven").first().waitFor();
    await page
      .getByRole("button", { name: /^Probe/ })
      .first()
      .click();
    await page.getByText("1 proven").waitFor();
    await page.getByRole("button", { name: "Run all probes" }).click();
    await page.getByRole("button", { name: /^Probe \d+ endpoints$/ }).click();
    await page.getByText(/^\d+ proven$|\d+ of \d+ failed/).waitFor();
    await expectAccessible(page);
    await screenshot(page, "operator-probes");
    await page.getByRole("tab", { name: "History" }).click();
    await rowOf(page, "operator").first().waitFor();
    await page.waitForURL(/tab=history/);
  });

  test("PORTAL-10 rates: one is given and stands in the history; without a source fetching says what to set", async () => {
    const page = await portal.page("operator", { allow: [/status of 400/] });
    await page.goto(`${portal.origin}/app/operator/rates`);
    await rowOf(page, "USD").waitFor();
    await page.getByRole("button", { name: "Fetch rates" }).click();
    await page.getByText("Set GATEWAY_RATES_URL").waitFor();
    const { data }: Json = await portal.gateway.manage("GET", "/rates");
    const usd = (Number(data.find((one: Json) => one.currency === "USD").per_eur) * 1.01).toFixed(4);
    await page.getByRole("button", { name: "Add rate" }).click();
    await page.getByLabel("Units per EUR").fill(usd);
    await page.getByRole("dialog").getByRole("button", { name: "Add rate" }).click();
    await page.getByText("1 added").waitFor();
    await rowOf(page, "USD").getByText(usd).waitFor();
    await expectAccessible(page);
    await page.getByRole("tab", { name: "History" }).click();
    await rowOf(page, usd).waitFor();
  });
});
