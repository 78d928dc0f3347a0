import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OWN, requireKey } from "../support/own-keys.ts";
import { credentialOf } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

describe.runIf(hasChromium)("own provider keys", { timeout: 90_000 }, () => {
  let portal: Portal;
  let upstream: Upstream;
  const letIn = new Set([OWN("good")]);
  beforeAll(async () => {
    upstream = await startUpstream();
    requireKey(upstream, letIn);
    portal = await openPortal({
      PROVIDER_DEEPINFRA_BASE_URL: upstream.baseUrl,
      PROVIDER_NEBIUS_API_KEY: credentialOf("nebius"),
    });
  });
  afterAll(async () => {
    await portal?.close();
    await upstream?.close();
  });

  const kept = async () => (await portal.gateway.manage("GET", "/workspaces/demo/providers")).data;

  test("PORTAL-08 a key is connected once the provider accepts it, tested, used otherwise, and forgotten", async () => {
    const page = await portal.page("operator", { allow: [/status of 409/] });
    await page.goto(portal.at("provider-keys"));
    await page.getByRole("row").filter({ hasText: "nebius" }).getByText("Operator's key").waitFor();
    await page.getByRole("button", { name: /deepinfra/i }).click();
    const drawer = page.getByRole("dialog");
    await drawer.getByLabel("Key", { exact: true }).fill(OWN("bad"));
    await drawer.getByRole("button", { name: "Test and connect" }).click();
    await drawer.getByText(/was not accepted/).waitFor();
    expect(await kept()).toEqual([]);
    await drawer.getByLabel("Key", { exact: true }).fill(OWN("good"));
    await drawer.getByRole("button", { name: "Test and connect" }).click();
    await drawer.getByText("••••••••d4e5").waitFor();
    expect(await kept()).toMatchObject([{ provider: "deepinfra", use: "first", result: "accepted" }]);
    // Nothing of the key is on the page any more.
    expect(await page.content()).not.toContain(OWN("good"));
    // It is chosen once the gateway has it.
    await drawer.getByRole("radio", { name: /Fallback/ }).click();
    await page.getByText("Usage set to your key as fallback").waitFor();
    expect(await kept()).toMatchObject([{ use: "fallback" }]);
    await drawer.getByRole("button", { name: "Test key" }).click();
    await drawer.getByText(/accepted the key/).waitFor();
    letIn.delete(OWN("good"));
    await drawer.getByRole("button", { name: "Test key" }).click();
    await drawer.getByText(/rejected the key/).waitFor();
    await screenshot(page, "provider-keys-one");
    await expectAccessible(page);
    await drawer.getByRole("button", { name: "Disconnect" }).click();
    await page.getByRole("button", { name: "Delete key" }).click();
    await drawer.getByText("Connect with your own key").waitFor();
    expect(await kept()).toEqual([]);
  });

  test("PORTAL-08 providers are found by state and name, on a phone too", async () => {
    const page = await portal.page("admin", { viewport: { width: 380, height: 800 } });
    await page.goto(portal.at("provider-keys?state=own"));
    await page.getByText("No provider keys yet").waitFor();
    await page.getByRole("button", { name: "All providers" }).click();
    await page.getByLabel("Search providers").fill("neb");
    await page.getByRole("button", { name: /nebius/i }).waitFor();
    await expect.poll(() => page.getByRole("row").count()).toBe(2);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(380);
    await expectAccessible(page);
    await portal.gateway.manage("PUT", "/workspaces/demo/providers/deepinfra", { key: OWN("kept"), skip_test: true });
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(portal.at("provider-keys"));
    await page.getByRole("row").filter({ hasText: "deepinfra" }).getByText("Your key, first").waitFor();
    await screenshot(page, "provider-keys");
  });
});
