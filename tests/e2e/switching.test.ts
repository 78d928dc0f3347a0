import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";

describe.skipIf(!hasChromium)("another workspace on the same screen", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
    const { email } = await portal.person("operator");
    for (const slug of ["one", "two"]) {
      await portal.gateway.manage("POST", "/workspaces", { slug, name: `The ${slug}` });
      await portal.gateway.manage("POST", `/workspaces/${slug}/members`, { email, role: "owner" });
    }
  });
  afterAll(() => portal?.close());

  const switchTo = async (page: Page, slug: string) => {
    await page.getByRole("button", { name: /^Workspace:/ }).click();
    await page.getByRole("menuitem", { name: `The ${slug}` }).click();
    await page.waitForURL(new RegExp(`/app/w/${slug}/`));
  };

  test("PORTAL-05 the form of alerts shows and saves the rules of the workspace that it stands in", async () => {
    const rules = (slug: string) => `/workspaces/${slug}/alerts`;
    for (const slug of ["one", "two"])
      await portal.gateway.manage("PUT", rules(slug), { mail_to: [`${slug}@example.eu`] });
    const page = await portal.page("operator");
    await page.goto(portal.at("alerts", "one"));
    const addresses = page.getByLabel("Email addresses, one per line");
    const shown = () => expect.poll(() => addresses.inputValue());
    await shown().toBe("one@example.eu");
    await switchTo(page, "two");
    await shown().toBe("two@example.eu");
    await switchTo(page, "one");
    await shown().toBe("one@example.eu");
    await page.getByRole("button", { name: "Save alerts", exact: true }).click();
    await page.getByText("Alerts saved").waitFor();
    expect(await portal.gateway.manage("GET", rules("one"))).toMatchObject({ mail_to: ["one@example.eu"] });
  });

  test("PORTAL-06 a draft of the policy that was given up is not offered to another workspace", async () => {
    const page = await portal.page("operator");
    page.on("dialog", (dialog) => void dialog.accept());
    await page.goto(portal.at("policy", "one"));
    await page.getByLabel("Zero data retention").check();
    await page.getByText("1 rule changed").waitFor();
    await switchTo(page, "two");
    await expect.poll(() => page.getByLabel("Zero data retention").isChecked()).toBe(false);
    expect(await page.getByText("1 rule changed").count()).toBe(0);
  });

  test("PORTAL-09 a key that was pasted into the playground stays with the workspace it was pasted in", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("playground", "one"));
    await page.getByText(/^Key: playground/).click();
    await page.getByLabel("Use your own key").fill("sk_svc_live_of_the_one");
    await page.getByText("Key: your key").waitFor();
    await switchTo(page, "two");
    await page.getByText(/^Key: playground/).waitFor();
    expect(await page.getByLabel("Use your own key").inputValue()).toBe("");
  });

  for (const { screen, open, field } of [
    { screen: "settings", open: "", field: "Name" },
    { screen: "capture", open: "Open window", field: "Reason" },
  ])
    test(`PORTAL-08 what was typed on ${screen} is gone in another workspace`, async () => {
      const page = await portal.page("operator");
      await page.goto(portal.at(screen, "one"));
      const show = async () => {
        if (open !== "") await page.getByRole("button", { name: open }).first().click();
      };
      await show();
      const own = await page.getByLabel(field).inputValue();
      await page.getByLabel(field).fill("typed in the one");
      if (open !== "") await page.getByRole("button", { name: "Cancel" }).click();
      await switchTo(page, "two");
      await show();
      await expect.poll(() => page.getByLabel(field).inputValue()).toBe(own.replace("The one", "The two"));
    });

  test("PORTAL-10 an operator reads the name of a workspace they are no member of, and one that is not there is not remembered", async () => {
    await portal.gateway.manage("POST", "/workspaces", { slug: "theirs", name: "Of others" });
    const page = await portal.page("operator", { allow: [/404/] });
    const switcher = page.getByRole("button", { name: /^Workspace:/ });
    await page.goto(portal.at("keys", "theirs"));
    await expect.poll(() => switcher.textContent()).toContain("Of others");
    await page.goto(portal.at("", "nope"));
    await page.getByText("Workspace not found").waitFor();
    await expect.poll(() => switcher.textContent()).toContain("Of others");
    await page.getByRole("link", { name: "View workspaces" }).click();
    await page.waitForURL(/\/app\/w\/theirs/);
    await page.evaluate("localStorage.setItem('workspace', 'nope')");
    await page.goto(`${portal.origin}/`);
    await page.getByText("Workspace not found").waitFor();
    await page.getByRole("link", { name: "View workspaces" }).click();
    await page.waitForURL(/\/app\/w\/(demo|one|two)/);
  });
});
