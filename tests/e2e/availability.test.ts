import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { pick } from "./support/pick.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

/** In the catalogue, and served by no provider that a fresh gateway has. */
const ELSEWHERE = "mistral/mistral-small-2506";

describe.skipIf(!hasChromium)("what can be called", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  }, 120_000);
  afterAll(() => portal.close());

  test("PORTAL-20 models are listed available first, filtered, and lead to the playground or to a provider key", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at());
    await page.getByRole("link", { name: "Models", exact: true }).first().click();
    const rows = page.getByRole("table", { name: "Models" }).locator("tbody tr");
    await rows.first().getByText("Available", { exact: true }).waitFor();
    const badges = () =>
      rows.evaluateAll((all) => all.map((row) => /Available|Connect provider/.exec(row.textContent)?.[0]));
    const shown = await badges();
    const firstElsewhere = shown.findIndex((text) => text !== "Available");
    expect(firstElsewhere).toBeGreaterThan(0);
    expect(shown.slice(firstElsewhere)).not.toContain("Available");
    await expectAccessible(page);
    await screenshot(page, "models");
    await page.getByLabel("Availability").selectOption("Available");
    await page.waitForURL(/available=true/);
    await expect.poll(async () => new Set(await badges())).toEqual(new Set(["Available"]));

    await page.goto(`${portal.origin}/app/models/sandbox/chat`);
    await page.getByRole("link", { name: "Try in playground" }).waitFor();
    await page.goto(`${portal.origin}/app/models/${ELSEWHERE}`);
    await page.getByText("No connected provider serves this model").waitFor();
    expect(await page.getByRole("link", { name: "Try in playground" }).count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole("main").getByRole("link", { name: "Connect", exact: true }).first().click();
    await page.waitForURL(/\/provider-keys\?provider=\w+/);
    // The provider of an endpoint is chosen already.
    await page.getByRole("dialog").getByLabel(/key/i).first().waitFor();
  });

  test("PORTAL-20 the playground lists callable models first and says how to connect another", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at(`playground?model=${encodeURIComponent(ELSEWHERE)}`));
    await page.getByText("isn't available").waitFor();
    expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
    await page.getByRole("main").getByRole("link", { name: "Connect", exact: true }).waitFor();
    await page.getByLabel("Model", { exact: true }).click();
    const options = page.getByRole("option");
    await options.first().waitFor();
    expect(await options.first().textContent()).not.toContain("Connect provider");
    await page.getByRole("dialog").last().getByRole("combobox").fill(ELSEWHERE);
    await options.filter({ hasText: ELSEWHERE }).getByText("Connect provider").waitFor();
    await page.keyboard.press("Escape");
    await pick(page.getByLabel("Model", { exact: true }), "sandbox/chat");
    await expect.poll(() => page.getByRole("button", { name: "Send" }).isDisabled()).toBe(false);
  });

  test("PORTAL-20 members see whom to ask; a policy that excludes a model is named as the reason", async () => {
    await portal.person("operator");
    const page = await portal.page("member");
    await page.goto(`${portal.origin}/app/models/${ELSEWHERE}`);
    await page.getByRole("button", { name: "Ask an admin" }).first().click();
    await page.getByRole("dialog").getByRole("link", { name: "ada@example.eu" }).waitFor();
    await portal.gateway.manage("PATCH", "/workspaces/demo/policy", { floor: "L2" });
    await page.goto(`${portal.origin}/app/models/sandbox/chat`);
    await page.locator("details", { hasText: "sandbox-us" }).getByText("Excluded by policy").waitFor();
    await page.locator("details", { hasText: "sandbox-de" }).getByText("Available", { exact: true }).waitFor();
    await portal.gateway.manage("PATCH", "/workspaces/demo/policy", { floor: "L4" });
    await page.reload();
    await page.getByText("Your policy excludes all endpoints").waitFor();
    expect(await page.getByRole("link", { name: "Try in playground" }).count()).toBe(0);
    await portal.gateway.manage("PATCH", "/workspaces/demo/policy", { floor: null });
  });

  test("PORTAL-20 model pickers of routers and policies mark and filter what can be called", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("policy"));
    await page.getByRole("heading", { name: "Allowed models" }).click();
    await page.getByLabel("Only selected models").click();
    const list = page.getByRole("group", { name: "Allowed models" });
    await list.getByText("Available", { exact: true }).first().waitFor();
    await list.getByText("Connect provider").first().waitFor();
    await list.getByLabel("Available only").check();
    await expect.poll(() => list.getByText("Connect provider").count()).toBe(0);
    await list
      .getByRole("checkbox", { name: /^sandbox\/chat/ })
      .first()
      .check();
    await expectAccessible(page);
    await portal.gateway.manage("PUT", "/workspaces/demo/routers/chosen", {});
    await page.goto(portal.at("routers/chosen"));
    await page.getByLabel("Only selected models").click();
    const routed = page.getByRole("group", { name: "Models", exact: true });
    await routed.getByText("Available", { exact: true }).first().waitFor();
    await routed.getByText("Connect provider").first().waitFor();
  });

  test("PORTAL-20 the doctor's advice is amber and counted in the headline", async () => {
    const page = await portal.page("operator");
    await page.goto(`${portal.origin}/app/operator`);
    // Only simulated providers are connected.
    await page.getByText(/^\d+ warnings?$/).waitFor();
    const checks = page.getByRole("list", { name: "Checks" });
    await checks.getByRole("listitem").filter({ hasText: "providers" }).getByText("Warning").waitFor();
    await checks
      .getByRole("listitem")
      .filter({ hasText: "the ledger balances" })
      .getByText("OK", { exact: true })
      .waitFor();
    const { stdout } = await portal.gateway.cli("doctor");
    expect(stdout).toMatch(/^warnings +[1-9]/m);
    expect(stdout).toMatch(/^providers +warning +only simulated providers are connected \(sandbox/m);
  });

  test("PORTAL-05 the operator adds funds in the wallet itself; members read whom to ask", async () => {
    const page = await portal.page("operator");
    const before = Number((await portal.gateway.manage("GET", "/workspaces/demo/wallet")).balance);
    await page.goto(portal.at("wallet"));
    await page.getByRole("button", { name: "Add funds" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Online payment isn't set up").waitFor();
    expect(await dialog.getByRole("link", { name: "Set up online payment" }).getAttribute("href")).toBe(
      "/docs/guides/wallet#external-payments",
    );
    await dialog.getByLabel(/Amount/).fill("12.50");
    await dialog.getByRole("button", { name: /Add €12\.50/ }).click();
    await page.getByText(/12\.50 added to/).waitFor();
    const after = Number((await portal.gateway.manage("GET", "/workspaces/demo/wallet")).balance);
    expect(after - before).toBeCloseTo(12.5);
    const member = await portal.page("member");
    await member.goto(portal.at("wallet?new=1"));
    await member.getByRole("link", { name: "ada@example.eu" }).waitFor();
  });
});
