import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { agentForTest, createNode, localForTest, waitForNodeState } from "../support/nodes.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { pick } from "./support/pick.ts";
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
  });
  afterAll(() => portal?.close());

  const versions = async (slug: string) =>
    (await portal.gateway.manage("GET", `/workspaces/demo/routers/${slug}/versions`)).data;

  test("PORTAL-06 a router is designed with a preview, and saved", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("routers"));
    await page.getByText("Built-in").waitFor();
    await page.getByRole("button", { name: "Create router" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("cheap-eu");
    await page.getByRole("button", { name: "Continue" }).click();
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
    await preview.getByText(/excluded endpoint/).waitFor();
    await pick(page.getByRole("combobox", { name: "Add model" }), "sandbox/chat-fr");
    await pick(page.getByRole("combobox", { name: "Add model" }), "sandbox/chat-mini");
    await page.getByRole("button", { name: "Move sandbox/chat-mini up" }).click();
    await preview.and(page.locator('[aria-busy="false"]')).waitFor();
    await page.evaluate("scrollTo(0, 0)");
    await screenshot(page, "router");
    await expectAccessible(page);
    await page.getByLabel("Quality floor").check();
    await page.getByRole("slider", { name: "Minimum quality" }).fill("0.4");
    await page.getByRole("radio", { name: "Selected countries" }).click();
    await page.getByRole("button", { name: "Select EU" }).click();
    await page.getByLabel("Only selected models").check();
    const models = page.getByRole("group", { name: "Models" });
    await models.getByRole("searchbox").fill("sandbox/chat-fr");
    await models.getByRole("checkbox", { name: /sandbox\/chat-fr/ }).check();
    await page.getByLabel("Preference").selectOption("fallback");
    await page.getByLabel("Effort").selectOption("low");
    await page.getByRole("button", { name: "Save router" }).click();
    await page.getByText("Router saved as version 1").waitFor();
    const [first] = await versions("cheap-eu");
    expect(first.spec).toMatchObject({
      ...{ weights: { quality: 40, cost: values[1], latency: values[2] }, floor: "L2", quality_floor: 0.4 },
      ...{ models: ["sandbox/chat-fr"], fallback: ["sandbox/chat-mini", "sandbox/chat-fr"] },
      ...{ nodes: "fallback", reasoning_effort: "low" },
    });
    expect(first.spec.countries).toHaveLength(27);
    await page.getByRole("tab", { name: "Versions" }).click();
    await page
      .getByText(
        `quality 40, cost ${values[1]}, latency ${values[2]}; floor L2; minimum quality 0.4; 27 countries; sandbox/chat-fr; fallback sandbox/chat-mini, sandbox/chat-fr; effort low; nodes as fallback`,
      )
      .waitFor();
    await page.goto(portal.at("routers"));
    const listed = page.getByRole("row").filter({ hasText: "@demo/cheap-eu" });
    expect(await listed.textContent()).toMatch(/FloorL2.*Models1, 2 fallback.*Version1/);
    await page.getByRole("button", { name: "Create router" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("cheap-eu");
    await page.getByText("A router with this name already exists").waitFor();
  });

  test("PORTAL-06 an old version of a router is restored, and a router is removed", async () => {
    const put = (spec: object) => portal.gateway.manage("PUT", "/workspaces/demo/routers/old", spec);
    await put({ floor: "L2" });
    await put({ weights: { cost: 1 } });
    const page = await portal.page("operator");
    await page.goto(portal.at("routers/old?tab=versions"));
    await page.getByRole("button", { name: "Restore version 1" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restore version" }).click();
    await page.getByText("Restored as version 3").waitFor();
    expect((await versions("old"))[0].spec.floor).toBe("L2");
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove router" }).click();
    await page.getByText("@demo/old removed").waitFor();
    expect((await versions("old"))[0].spec).toBeNull();
    await page.goto(portal.at("routers/old"));
    await page.getByText("Router not found").waitFor();
    await page.getByRole("button", { name: "Restore version 3" }).waitFor();
  });

  test("PORTAL-06 a dry run says where a request would go and why, or why it would be refused", async () => {
    const page = await portal.page("member");
    await page.goto(portal.at("routers/auto?tab=dry-run"));
    await page.getByRole("button", { name: "Run dry run" }).click();
    const result = page.getByRole("status", { name: "Dry run result" });
    await result.getByText(/Routed to sandbox\//).waitFor();
    expect(await result.getByRole("list", { name: "Planned endpoints" }).getByRole("listitem").count()).toBeGreaterThan(
      1,
    );
    await page.evaluate("scrollTo(0, 0)");
    await screenshot(page, "router-dry-run");
    await expectAccessible(page);
    await page.getByRole("radio", { name: "JSON body" }).click();
    await page
      .getByRole("textbox", { name: "Body" })
      .fill('{"messages": [{"role": "user", "content": "Hi"}], "nonsense": 1}');
    await page.getByRole("button", { name: "Run dry run" }).click();
    await result.getByText(/Rejected: 400 unsupported_parameter/).waitFor();
    await page.getByRole("textbox", { name: "Body" }).fill("not JSON");
    await page.getByRole("button", { name: "Run dry run" }).click();
    await page.getByText("Enter a JSON object").waitFor();
    // Past traffic is not a member's.
    expect(await page.getByRole("tab", { name: "Replay" }).count()).toBe(0);
  });

  test("PORTAL-06 a dry run is of the draft, by the chosen key, and of what the request needs on its surface", async () => {
    const key = await portal.gateway.manage("POST", "/workspaces/demo/keys", {
      name: "strict",
      policy: { floor: "L2" },
    });
    const page = await portal.page("operator");
    await page.goto(portal.at("routers/auto?tab=dry-run"));
    const result = page.getByRole("status", { name: "Dry run result" });
    const explained = async (): Promise<Json> => {
      const answer = page.waitForResponse(/\/routing\/explain$/);
      await page.getByRole("button", { name: "Run dry run" }).click();
      return (await answer).json();
    };
    const { expected, order, candidates } = await explained();
    await result.getByText(`Routed to ${expected.model}`).waitFor();
    await result.getByText(expected.endpoint, { exact: true }).waitFor();
    expect(await result.getByTitle(`${expected.cost} EUR`).count()).toBeGreaterThan(0);
    const picks = result.getByRole("list", { name: "Planned endpoints" }).getByRole("listitem");
    const models = order.map((id: string) => candidates.find(({ endpoint }: Json) => endpoint === id).model);
    for (const [at, model] of models.slice(0, 3).entries()) expect(await picks.nth(at).textContent()).toContain(model);
    for (const need of ["Tools", "Vision", "JSON schema output"]) await page.getByLabel(need).check();
    await page.getByLabel("Max output tokens").fill("77");
    for (const surface of ["chat", "messages", "responses"]) {
      await page.getByLabel("Surface").selectOption(surface);
      const requested = page.waitForRequest(/\/routing\/explain$/);
      expect((await explained()).refusal, surface).toBeNull();
      const { request, ...rest } = (await requested).postDataJSON();
      expect(rest).toMatchObject({ model: "auto", surface });
      expect(request.max_completion_tokens ?? request.max_tokens ?? request.max_output_tokens).toBe(77);
      const text = JSON.stringify(request);
      for (const part of ['"weather"', "iVBORw0KGgo", '"json_schema"']) expect(text).toContain(part);
    }
    await page.getByLabel("Key").selectOption(key.id);
    await explained();
    const floor = result.getByRole("listitem").filter({ hasText: /^floorL2/ });
    expect(await floor.textContent()).toBe("floorL2key");
    await page.getByRole("tab", { name: "Design" }).click();
    await page.getByRole("radio", { name: /Full sovereignty/ }).click();
    await page.getByRole("tab", { name: "Dry run" }).click();
    await explained();
    await result.getByText(/Rejected: \d+ sovereignty_floor_not_met/).waitFor();
  });

  test("PORTAL-06 past traffic is replayed through a draft: cost, models and levels before and after", async () => {
    const page = await portal.page("operator", { viewport: { width: 1280, height: 1000 } });
    await page.goto(portal.at("routers/auto"));
    await page.getByRole("radio", { name: /EU\/EEA control/ }).click();
    await page.getByRole("tab", { name: "Replay" }).click();
    const replayed = async (): Promise<Json> => {
      const answer = page.waitForResponse(/\/routers\/auto\/replay$/);
      await page.getByRole("button", { name: "Run replay", exact: true }).click();
      return (await answer).json();
    };
    const { happened, replayed: then, models } = await replayed();
    const result = page.getByRole("status", { name: "Replay result" });
    const levels = result.getByRole("table", { name: "By level" });
    await levels.waitFor();
    await result.getByRole("table", { name: "By model" }).getByText("sandbox/gemini").waitFor();
    expect(await levels.getByRole("row").filter({ hasText: "L0" }).textContent()).toMatch(/to0$/);
    const titles = (row: ReturnType<typeof levels.getByRole>) =>
      row.locator("[title$=EUR]").evaluateAll((all) => all.map((one) => one.getAttribute("title")));
    const whole = result.getByRole("table", { name: "Before and after" }).getByRole("row").filter({ hasText: "Cost" });
    expect(await titles(whole)).toEqual([`${happened.cost} EUR`, `${then.cost} EUR`]);
    const rows = result.getByRole("table", { name: "By model" }).getByRole("row");
    for (const [at, one] of models.entries()) {
      expect(await rows.nth(at + 1).textContent()).toContain(
        `${one.model}Requests${one.happened.requests}→to${one.replayed.requests}`,
      );
      expect(await titles(rows.nth(at + 1))).toEqual([`${one.happened.cost} EUR`, `${one.replayed.cost} EUR`]);
    }
    await screenshot(page, "router-replay");
    await expectAccessible(page);
    await page.getByLabel("Model", { exact: true }).fill("sandbox/gemini");
    await page.getByLabel("Period").selectOption("Last 24 hours");
    await page.getByLabel("Requests").selectOption("Newest 100");
    const requested = page.waitForRequest(/\/routers\/auto\/replay$/);
    expect(await replayed()).toMatchObject({ found: 1, compared: 1 });
    const { model, limit, since } = (await requested).postDataJSON();
    expect([model, limit]).toEqual(["sandbox/gemini", 100]);
    expect(Math.round((Date.now() - Date.parse(since)) / 3_600_000)).toBe(24);
    await result.getByText("of 1 found").waitFor();
  });

  test("PORTAL-12 routers fit on a phone", async () => {
    const page = await portal.page("operator", { viewport: { width: 380, height: 800 } });
    for (const where of ["routers", "routers/auto", "routers/auto?tab=dry-run", "routers/auto?tab=replay"]) {
      await page.goto(portal.at(where));
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(380);
    }
  });

  test("NODE-06 PORTAL-06 the preview says which node changed the candidates, also after a visit elsewhere", async () => {
    const { slug } = await portal.gateway.tenant();
    const { token } = await createNode(portal.gateway, slug, "rack", { mapping: { tiny: "sandbox/chat" } });
    const { url } = await localForTest();
    const page = await portal.page("operator");
    await page.goto(portal.at("routers/auto", slug));
    const preview = page.getByRole("region", { name: "Preview" });
    await preview.getByRole("list").first().getByRole("listitem").first().waitFor();
    expect(await preview.getByText("Candidates changed").count()).toBe(0);
    await page.goto(portal.at("nodes", slug));
    const agent = agentForTest(portal.gateway.url, token, url);
    await waitForNodeState(portal.gateway, slug, "rack", "connected");
    await page.goto(portal.at("routers/auto", slug));
    await preview.getByText("Node rack joined").waitFor();
    await preview.getByText("node/rack/tiny").first().waitFor();
    await expectAccessible(page);
    await preview.getByRole("button", { name: "Dismiss" }).click();
    await preview.getByText("Node rack joined").waitFor({ state: "detached" });
    await agent.stop();
    await preview.getByText("Node rack disconnected").waitFor();
  });
});
