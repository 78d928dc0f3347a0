import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

describe.runIf(hasChromium)("the policy editor", { timeout: 90_000 }, () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  });
  afterAll(() => portal?.close());

  const policy = () => portal.gateway.manage("GET", "/workspaces/demo/policy");

  test("PORTAL-06 shows before saving what remains and why, asks when a model in use is lost, and saves", async () => {
    const { key } = await portal.gateway.manage("POST", "/workspaces/demo/keys", { name: "e2e" });
    const response = await portal.gateway.call(key, "/v1/chat/completions", {
      body: { model: "sandbox/gemini", messages: [{ role: "user", content: "Hello!" }] },
    });
    expect(response.status).toBe(200);
    const page = await portal.page("operator");
    await page.goto(portal.at("policy"));
    const remains = page.getByRole("region", { name: "Available after this policy" });
    await remains.getByText("No rule excludes any endpoint").waitFor();
    const ladder = page.getByRole("group", { name: "Sovereignty floor" });
    const left = async () =>
      (await ladder.getByText(/^\d+ available/).allTextContents()).map((text) => Number.parseInt(text, 10));
    const rungs = await left();
    expect(rungs).toHaveLength(6);
    expect(rungs).toEqual(rungs.toSorted((a, b) => b - a));
    expect(rungs[0]).toBeGreaterThan(rungs[5] ?? 0);
    const before = Number(await remains.locator('[data-figure="models"]').textContent());
    await page.getByRole("radio", { name: /EU\/EEA operation/ }).click();
    await remains.getByText("Sovereignty floor").waitFor();
    await remains.getByText("Models in use become unavailable").waitFor();
    expect(Number(await remains.locator('[data-figure="models"]').textContent())).toBeLessThan(before);
    // Nothing is saved by looking.
    expect(await policy()).toMatchObject({ floor: null });
    const row = page.getByRole("listitem").filter({ hasText: "sandbox/gemini" }).last();
    await row.locator("summary").click();
    await row.getByText("level L0 is below the floor L2").waitFor();
    await remains.and(page.locator('[aria-busy="false"]')).waitFor();
    await page.evaluate("scrollTo(0, 0)");
    await screenshot(page, "policy");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Save policy" }).click();
    await page.getByRole("dialog").getByText("sandbox/gemini").waitFor();
    await page.getByRole("button", { name: "Save anyway" }).click();
    await page.getByText("Policy saved").waitFor();
    expect(await policy()).toMatchObject({ floor: "L2" });
    await page.getByRole("tab", { name: "History" }).click();
    await page.getByRole("row").filter({ hasText: "Current" }).getByText("ada@example.eu").waitFor();
    await page.getByRole("button", { name: "Load into editor: version 1" }).click();
    await page.getByText("1 rule changed").waitFor();
    expect(await page.getByRole("radio", { name: /No floor/ }).isChecked()).toBe(true);
  });

  test("PORTAL-06 countries are chosen by region; a list with nothing on it is not saved", async () => {
    await portal.gateway.manage("PATCH", "/workspaces/demo/policy", { floor: "L2" });
    const page = await portal.page("operator", { viewport: { width: 380, height: 800 } });
    await page.goto(portal.at("policy"));
    await page.getByRole("radio", { name: "Selected countries" }).click();
    await page.getByText("30 countries").first().waitFor();
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    await page.getByText("Select at least one country").waitFor();
    expect(await page.getByRole("button", { name: "Save policy" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Select EU" }).click();
    await page.getByRole("button", { name: "Save policy" }).click();
    await page.getByText("Policy saved").waitFor();
    const { countries } = await policy();
    expect(countries).toHaveLength(27);
    const width = await page.evaluate("document.documentElement.scrollWidth");
    expect(width).toBeLessThanOrEqual(380);
    // Where the page stands after the click is chance, and with it what the bar at its foot lies over.
    await page.evaluate("window.scrollTo(0, 0)");
    await expectAccessible(page);
  });

  test("PORTAL-06 saving changes the rules that were touched here, and none that another admin changed meanwhile", async () => {
    const { slug } = await portal.gateway.tenant();
    const theirs = { blocked_providers: ["sandbox-fr"] };
    const page = await portal.page("operator");
    await page.goto(portal.at("policy", slug));
    await page.getByLabel("No training").check();
    await page.getByText("1 rule changed").waitFor();
    await portal.gateway.manage("PATCH", `/workspaces/${slug}/policy`, theirs);
    await page.getByRole("button", { name: "Save policy" }).click();
    await page.getByText("Policy saved").waitFor();
    const saved = await portal.gateway.manage("GET", `/workspaces/${slug}/policy`);
    expect(saved).toMatchObject({ no_training: true, ...theirs });
  });

  test("PORTAL-06 each rule is saved as it was chosen, and its history says what it changed", async () => {
    const { slug } = await portal.gateway.tenant();
    const rules = `/workspaces/${slug}/policy`;
    const page = await portal.page("operator");
    await page.goto(portal.at("policy", slug));
    await page.getByLabel("No training").check();
    await page.getByRole("button", { name: "Discard" }).click();
    expect(await page.getByLabel("No training").isChecked()).toBe(false);
    expect(await page.getByText("1 rule changed").count()).toBe(0);
    await page.getByLabel("Zero data retention").check();
    await page.getByText("Blocked providers", { exact: true }).first().click();
    await page.getByRole("group", { name: "Blocked providers" }).getByLabel("Sandbox US").check();
    await page.getByText("Allowed models", { exact: true }).first().click();
    await page.getByLabel("Only selected models").check();
    await page.getByText("Select at least one model").waitFor();
    expect(await page.getByRole("button", { name: "Save policy" }).isDisabled()).toBe(true);
    const models = page.getByRole("group", { name: "Allowed models" });
    await models.getByRole("searchbox").fill("sandbox/chat-fr");
    await models.getByRole("checkbox", { name: /sandbox\/chat-fr/ }).check();
    await page.getByText("3 rules changed").waitFor();
    const saved = { zero_data_retention: true, blocked_providers: ["sandbox-us"], allowed_models: ["sandbox/chat-fr"] };
    const remains = page.getByRole("region", { name: "Available after this policy" });
    await remains.and(page.locator('[aria-busy="false"]')).waitFor();
    const { after, lost, rules: why } = await portal.gateway.manage("POST", `${rules}/preview`, saved);
    for (const [name, count] of Object.entries(after))
      expect(await remains.locator(`[data-figure="${name}"]`).textContent()).toBe(String(count));
    for (const { out } of why) await remains.getByText(`${out.endpoints} endpoint`).first().waitFor();
    await page.getByLabel("Filter models").selectOption(`Removed (${lost.length})`);
    await expect.poll(() => page.getByText("Unchanged", { exact: true }).count()).toBe(0);
    await page.getByText("Removed", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Save policy" }).click();
    await page.getByText("Policy saved").waitFor();
    const others = { floor: null, countries: null, no_training: false };
    expect(await portal.gateway.manage("GET", rules)).toMatchObject({ ...saved, ...others });
    await page.getByRole("tab", { name: "History" }).click();
    const newest = page.getByRole("row").filter({ hasText: "Current" });
    await expect
      .poll(() => newest.getByRole("listitem").allTextContents())
      .toEqual([
        "Zero data retention:Not required→toRequired",
        "Blocked providers:None→tosandbox-us",
        "Allowed models:All models→tosandbox/chat-fr",
      ]);
    await page.getByRole("tab", { name: "Rules" }).click();
    await page.getByRole("radio", { name: /Full sovereignty/ }).click();
    await page.getByText("No endpoints left").waitFor();
    await page.getByRole("button", { name: "Save policy" }).click();
    await page.getByRole("dialog").getByText("All requests would be rejected").waitFor();
    expect(await portal.gateway.manage("GET", rules)).toMatchObject(others);
  });

  test("PORTAL-06 CLASS-02 rules of data classes are tried on a text that is not stored, then saved and removed", async () => {
    const { slug } = await portal.gateway.tenant();
    const terms = { terms: ["Blue Dune"] };
    await portal.gateway.manage("PUT", `/workspaces/${slug}/data-classes/acme-projects`, terms);
    const page = await portal.page("operator");
    await page.goto(portal.at("policy?tab=data", slug));
    const text = page.getByLabel("Text", { exact: true });
    await text.fill("Blue Dune: write to jane.doe@mail.example.eu");
    const found = page.getByRole("region", { name: "Findings" });
    await found.getByText("acme-projects 1").waitFor();
    expect(await found.locator("mark").allTextContents()).toEqual([
      "Blue DuneACME_PROJECTS",
      "jane.doe@mail.example.euEMAIL",
    ]);
    const personal = page.getByRole("group", { name: "personal" });
    expect(await personal.getByLabel("Below level").isDisabled()).toBe(true);
    await personal.getByLabel("In requests").selectOption("redact");
    await personal.getByLabel("Below level").selectOption("L3");
    await page.getByRole("group", { name: "secret" }).getByLabel("In replies").selectOption("block");
    await page.getByRole("group", { name: "acme-projects" }).getByLabel("Floor").selectOption("L1");
    const received = page.getByRole("region", { name: "What endpoints receive" });
    await received.getByText("Blue Dune: write to [EMAIL]").waitFor();
    const rows = await received.getByRole("listitem").allTextContents();
    expect(rows.map((row) => /Excluded|Redacted|Unchanged/.exec(row)?.[0])).toEqual([
      "Excluded",
      "Redacted",
      "Unchanged",
    ]);
    expect(await portal.gateway.manage("GET", `/workspaces/${slug}/policy`)).not.toHaveProperty("data_classes");
    await page.evaluate("scrollTo(0, 0)");
    await screenshot(page, "data-classes");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Save rules" }).click();
    await page.getByText("Rules saved").waitFor();
    expect((await portal.gateway.manage("GET", `/workspaces/${slug}/policy`)).data_classes).toEqual({
      personal: { action: "redact", below: "L3" },
      secret: { output: "block" },
      "acme-projects": { floor: "L1" },
    });
    await personal.getByLabel("In requests").selectOption("");
    await page.getByRole("group", { name: "secret" }).getByLabel("In replies").selectOption("");
    await page.getByRole("group", { name: "acme-projects" }).getByLabel("Floor").selectOption("");
    await page.getByRole("button", { name: "Save rules" }).click();
    await page.getByText("Rules saved").first().waitFor();
    await expect
      .poll(() => portal.gateway.manage("GET", `/workspaces/${slug}/policy`))
      .not.toHaveProperty("data_classes");
    const audit = await portal.gateway.manage("GET", `/audit?workspace=${slug}`);
    expect(JSON.stringify(audit)).not.toContain("jane.doe");
    const narrow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    expect(narrow).toBeLessThanOrEqual(0);
  });

  test("PORTAL-06 a member looks and tries, and has nothing to save with", async () => {
    const page = await portal.page("member");
    await page.goto(portal.at("policy"));
    await page.getByText("Only admins and owners can change the policy").waitFor();
    await page.getByRole("radio", { name: /Full sovereignty/ }).click();
    await page.getByText("No endpoints left").waitFor();
    expect(await page.getByRole("button", { name: "Save policy" }).count()).toBe(0);
  });

  test("PORTAL-06 an operator changes everything, whatever seat they hold", async () => {
    const { slug } = await portal.gateway.tenant();
    const page = await portal.page("operator");
    const { email } = await portal.person("operator");
    await portal.gateway.manage("POST", `/workspaces/${slug}/members`, { email, role: "member" });
    await page.goto(portal.at("policy", slug));
    await page.getByLabel("No training").check();
    await page.getByRole("button", { name: "Save policy" }).click();
    await page.getByText("Policy saved").waitFor();
    await page.goto(portal.at("routers", slug));
    await page.getByRole("button", { name: "Create router" }).first().waitFor();
    await page.goto(portal.at("usage", slug));
    await page.getByText("Usage and spend of this workspace").waitFor();
    await page.goto(portal.at("limits", slug));
    await page.getByRole("button", { name: "Set limit" }).first().waitFor();
  });

  test("PORTAL-06 NODE-04 KEY-09 PARAM-08 own nodes, test keys and parameters are set, and new keys say what they call", async () => {
    await portal.gateway.manage("PATCH", "/workspaces/demo/policy", { floor: "L1" });
    const page = await portal.page("operator");
    await page.goto(portal.at("policy"));
    await page.getByLabel("Exempt own nodes").check();
    await page.getByLabel("Simulated providers only").check();
    await page.getByLabel("Lenient").check();
    await page.getByText("3 rules changed").waitFor();
    await page.getByRole("button", { name: "Save policy" }).click();
    await page.getByText("Policy saved").waitFor();
    expect(await policy()).toMatchObject({ own_nodes: "exempt", test_keys: "simulated", parameters: "lenient" });
    await page.goto(portal.at("keys?new=1"));
    await page.getByLabel("Environment").selectOption("test");
    await page.getByText("Reaches simulated providers only").waitFor();
    const cleared = { own_nodes: "subject", test_keys: "any", parameters: null };
    await portal.gateway.manage("PATCH", "/workspaces/demo/policy", cleared);
    await page.reload();
    await page.getByLabel("Environment").selectOption("test");
    await page.getByText("the same models at the same price as a live key").waitFor();
  });
});
