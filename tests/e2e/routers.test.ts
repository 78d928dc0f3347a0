import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

describe.runIf(hasChromium)("routers", { timeout: 90_000 }, () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
    const { key } = await portal.gateway.manage("POST", "/workspaces/demo/keys", { name: "e2e" });
    for (const model of ["sandbox/gemini", "sandbox/chat", "sandbox/chat"]) {
      const body = { model, messages: [{ role: "user", content: "Hello!" }] };
      expect((await portal.gateway.call(key, "/v1/chat/completions", { body })).status).toBe(200);
    }
  }, 60_000);
  afterAll(() => portal?.close());

  const versions = async (slug: string) =>
    (await portal.gateway.manage("GET", `/workspaces/demo/routers/${slug}/versions`)).data;

  test("PORTAL-06 a router is designed with a preview, and saved", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("routers"));
    await page.getByText("built in").waitFor();
    await page.getByRole("button", { name: "New router" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("cheap-eu");
    await page.getByRole("button", { name: "Design it" }).click();
    const preview = page.getByRole("region", { name: "Preview" });
    await preview.getByRole("list").first().getByRole("listitem").first().waitFor();
    await page.getByRole("button", { name: "Cheapest" }).click();
    await page.getByRole("slider", { name: "Quality" }).fill("40");
    const values = await page
      .getByRole("slider")
      .evaluateAll((all) => all.map((one) => Number(Reflect.get(one, "value"))));
    expect(values.slice(0, 3).reduce((sum, one) => sum + one, 0)).toBe(100);
    expect(values[0]).toBe(40);
    await page.getByRole("radio", { name: /EU\/EEA operation/ }).click();
    await preview.getByText(/fall out/).waitFor();
    await page.getByRole("combobox", { name: "Add a model" }).selectOption("sandbox/chat-fr");
    await page.getByRole("combobox", { name: "Add a model" }).selectOption("sandbox/chat-mini");
    await page.getByRole("button", { name: "Move sandbox/chat-mini up" }).click();
    await preview.and(page.locator('[aria-busy="false"]')).waitFor();
    await page.evaluate("scrollTo(0, 0)");
    await screenshot(page, "router");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Save the router" }).click();
    await page.getByText("Saved as version 1").waitFor();
    const [first] = await versions("cheap-eu");
    expect(first.spec).toMatchObject({
      weights: { quality: 40 },
      floor: "L2",
      fallback: ["sandbox/chat-mini", "sandbox/chat-fr"],
    });
  });

  test("PORTAL-06 an old version of a router is restored, and a router is removed", async () => {
    const put = (spec: object) => portal.gateway.manage("PUT", "/workspaces/demo/routers/old", spec);
    await put({ floor: "L2" });
    await put({ weights: { cost: 1 } });
    const page = await portal.page("operator");
    await page.goto(portal.at("routers/old?tab=versions"));
    await page.getByRole("button", { name: "Restore version 1" }).click();
    await page.getByRole("button", { name: "Restore it" }).click();
    await page.getByText("Restored as version 3").waitFor();
    expect((await versions("old"))[0].spec.floor).toBe("L2");
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("button", { name: "Remove the router" }).click();
    await page.getByText("@demo/old was removed.").waitFor();
    expect((await versions("old"))[0].spec).toBeNull();
    await page.goto(portal.at("routers/old"));
    await page.getByText("This router is not there").waitFor();
    await page.getByRole("button", { name: "Restore version 3" }).waitFor();
  });

  test("PORTAL-06 a dry run says where a request would go and why, or why it would be refused", async () => {
    const page = await portal.page("member");
    await page.goto(portal.at("routers/auto?tab=dry-run"));
    await page.getByRole("button", { name: "Where would it go?" }).click();
    const result = page.getByRole("status", { name: "Result of the dry run" });
    await result.getByText(/It would go to sandbox\//).waitFor();
    expect(
      await result.getByRole("list", { name: "Would be tried in this order" }).getByRole("listitem").count(),
    ).toBeGreaterThan(1);
    await page.evaluate("scrollTo(0, 0)");
    await screenshot(page, "router-dry-run");
    await expectAccessible(page);
    await page.getByRole("radio", { name: "JSON body" }).click();
    await page
      .getByRole("textbox", { name: "Body" })
      .fill('{"messages": [{"role": "user", "content": "Hi"}], "nonsense": 1}');
    await page.getByRole("button", { name: "Where would it go?" }).click();
    await result.getByText(/It would be refused: 400 unsupported_parameter/).waitFor();
    await page.getByRole("textbox", { name: "Body" }).fill("not JSON");
    await page.getByRole("button", { name: "Where would it go?" }).click();
    await page.getByText("Write one JSON object").waitFor();
    // Past traffic is not a member's.
    expect(await page.getByRole("tab", { name: "Replay" }).count()).toBe(0);
  });

  test("PORTAL-06 past traffic is replayed through a draft: cost, models and levels before and after", async () => {
    const page = await portal.page("operator", { viewport: { width: 1280, height: 1000 } });
    await page.goto(portal.at("routers/auto"));
    await page.getByRole("radio", { name: /EU\/EEA control/ }).click();
    await page.getByRole("tab", { name: "Replay" }).click();
    await page.getByRole("button", { name: "Replay", exact: true }).click();
    const result = page.getByRole("status", { name: "Result of the replay" });
    const levels = result.getByRole("table", { name: "By level" });
    await levels.waitFor();
    await result.getByRole("table", { name: "By model" }).getByText("sandbox/gemini").waitFor();
    expect(await levels.getByRole("row").filter({ hasText: "L0" }).textContent()).toMatch(/to0$/);
    await screenshot(page, "router-replay");
    await expectAccessible(page);
  });

  test("PORTAL-12 routers fit on a phone", async () => {
    const page = await portal.page("operator", { viewport: { width: 380, height: 800 } });
    for (const where of ["routers", "routers/auto", "routers/auto?tab=dry-run", "routers/auto?tab=replay"]) {
      await page.goto(portal.at(where));
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(380);
    }
  });
});
