import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OWN, requireKey } from "../support/own-keys.ts";
import { credentialOf } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openOperator, rowOf } from "./support/operator.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

describe.skipIf(!hasChromium)("the platform's own credentials", () => {
  let portal: Portal;
  let upstream: Upstream;
  beforeAll(async () => {
    upstream = await startUpstream();
    requireKey(upstream, new Set([OWN("good"), OWN("next")]));
    portal = await openPortal({
      PROVIDER_DEEPINFRA_BASE_URL: upstream.baseUrl,
      PROVIDER_NEBIUS_API_KEY: credentialOf("nebius"),
      AWS_ACCESS_KEY_ID: "AKIAEXAMPLEEXAMPLE00",
      AWS_SECRET_ACCESS_KEY: "abcdefghijabcdefghijabcdefghijabcdefghij",
    });
  });
  afterAll(async () => {
    await portal?.close();
    await upstream?.close();
  });

  const listed = async (wanted: string) => {
    const { data } = await portal.gateway.manage("GET", "/providers");
    return data.find(({ slug }: { slug: string }) => slug === wanted);
  };

  test("PORTAL-10 one is connected once the provider accepts it, replaced, and forgotten after a question", async () => {
    const page = await portal.page("operator", { allow: [/status of 409/] });
    await page.goto(`${portal.origin}/app/operator/providers?q=deepinfra`);
    await rowOf(page, "Workspace keys only").waitFor();
    await page.getByRole("button", { name: /^Connect deepinfra/i }).click();
    const drawer = page.getByRole("dialog", { name: /deepinfra/i }).first();
    const connect = async (key: string) => {
      await drawer.getByLabel("Key", { exact: true }).fill(key);
      await drawer.getByRole("button", { name: "Test and connect" }).click();
    };
    expect(await drawer.getByRole("button", { name: "Test and connect" }).isDisabled()).toBe(true);
    await connect(OWN("bad"));
    await drawer.getByText(/was not accepted/).waitFor();
    expect(await listed("deepinfra")).toMatchObject({ connected: false, stored: false });
    await connect(OWN("good"));
    await drawer.getByText("It is used from the next request.").waitFor();
    expect(await listed("deepinfra")).toMatchObject({ connected: true, credential: "stored" });
    await expect.poll(() => drawer.getByLabel("Key", { exact: true }).inputValue()).toBe("");
    expect(await page.content()).not.toContain(OWN("good"));
    await screenshot(page, "operator-credential");
    await expectAccessible(page);

    await drawer.getByText("Replace stored credential").waitFor();
    const shown = drawer.getByRole("status").filter({ hasText: "fingerprint" });
    const before = await shown.textContent();
    await connect(OWN("next"));
    await expect.poll(() => shown.textContent()).not.toBe(before);

    await drawer.getByRole("button", { name: "Disconnect" }).click();
    await page.getByText("Workspaces without their own key can no longer call").waitFor();
    await page.getByRole("button", { name: "Delete credential" }).click();
    await drawer.getByText("Connect for all workspaces").waitFor();
    expect(await listed("deepinfra")).toMatchObject({ connected: false, stored: false });
    for (const gone of [drawer.getByRole("button", { name: "Disconnect" }), shown])
      await gone.waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await rowOf(page, "Workspace keys only").waitFor();
  });

  test("PORTAL-10 a setting wins: what is connected behind it is kept, and said not to be used", async () => {
    const page = await openOperator(portal, "/providers?provider=nebius&q=nebius");
    await page.setViewportSize({ width: 380, height: 800 });
    const drawer = page.getByRole("dialog", { name: /nebius/i }).first();
    await drawer.getByText("A setting takes precedence").waitFor();
    expect(await drawer.getByRole("button", { name: "Disconnect" }).count()).toBe(0);
    await drawer.getByLabel("Key", { exact: true }).fill(OWN("behind"));
    await drawer.getByLabel("Skip test").check();
    await drawer.getByRole("button", { name: "Connect without test" }).click();
    const status = drawer.getByRole("status").filter({ hasText: "Stored, not used" });
    await status.waitFor();
    expect(await status.textContent()).toContain("PROVIDER_NEBIUS_API_KEY");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(380);
    await expectAccessible(page);
    await drawer.getByRole("button", { name: "Disconnect" }).click();
    await page.getByText("The setting still connects all workspaces.").waitFor();
    await page.getByRole("button", { name: "Delete credential" }).click();
    await page.getByText("Stored credential deleted. The setting still applies.").waitFor();
    expect(await listed("nebius")).toMatchObject({ connected: true, credential: "setting", stored: false });
  });

  test("PORTAL-10 what is stored wins over the keys of AWS, which go on when it is forgotten: both are said before", async () => {
    const page = await openOperator(portal, "/providers?provider=aws-bedrock&q=bedrock");
    const drawer = page.getByRole("dialog", { name: /bedrock/i }).first();
    await drawer.getByText("overrides it for all workspaces").waitFor();
    expect(await drawer.getByText("A setting takes precedence").count()).toBe(0);
    expect(await listed("aws-bedrock")).toMatchObject({
      credential: "setting",
      overridden_by: null,
      connected_by_settings: true,
    });
    await drawer.getByLabel("Key", { exact: true }).fill(OWN("bedrock"));
    await drawer.getByLabel("Skip test").check();
    await drawer.getByRole("button", { name: "Connect without test" }).click();
    await drawer.getByText("It is used from the next request.").waitFor();
    expect(await listed("aws-bedrock")).toMatchObject({
      credential: "stored",
      overridden_by: null,
      connected_by_settings: true,
    });
    await drawer.getByRole("button", { name: "Disconnect" }).click();
    await page.getByText("The setting then connects all workspaces").waitFor();
    expect(await page.getByText("can no longer call").count()).toBe(0);
    await page.getByRole("button", { name: "Delete credential" }).click();
    await page.getByText("Stored credential deleted. The setting still applies.").waitFor();
    expect(await listed("aws-bedrock")).toMatchObject({ connected: true, credential: "setting", stored: false });
  });
});
