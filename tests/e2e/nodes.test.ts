import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import {
  agentForTest,
  createNode,
  type LocalServer,
  localForTest,
  type RunningAgent,
  startAgent,
  startLocal,
  waitForNodeState,
} from "../support/nodes.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

describe.runIf(hasChromium)("nodes", { timeout: 90_000 }, () => {
  let portal: Portal;
  let local: LocalServer;
  const agents: RunningAgent[] = [];
  const connect = (token: string) => {
    const agent = startAgent(portal.gateway.url, token, local.url, { version: "0.1.0" });
    agents.push(agent);
    return agent;
  };
  beforeAll(async () => {
    portal = await openPortal();
    local = await startLocal({ models: ["llama3:8b", "qwen3:4b", "nomic-embed-text"] });
  });
  afterAll(async () => {
    for (const agent of agents) await agent.stop();
    await local?.close();
    await portal?.close();
  });

  const kept = (): Promise<Json> => portal.gateway.manage("GET", "/workspaces/demo/nodes");

  test("PORTAL-01 a node is added, connects while one looks, is mapped, gets a new token, and is removed", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("nodes"));
    await page.getByText("No nodes yet").waitFor();
    await page.getByText(/bin\/gateway node connect --url/).waitFor();
    await expectAccessible(page);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole("button", { name: "Add node" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("rack");
    await dialog.getByRole("button", { name: "Add node" }).click();
    const token = (await dialog.locator("[data-secret]").textContent()) ?? "";
    expect(token).toMatch(/^nt_svc_/);
    await dialog.getByText("Waiting for connection").waitFor();
    const agent = connect(token);
    await dialog.getByText("Serves llama3:8b, qwen3:4b, nomic-embed-text.").waitFor();
    await dialog.getByRole("button", { name: "I copied the token" }).click();
    // Shown once: nothing of it is on the page any more.
    expect(await page.content()).not.toContain(token);
    const row = page.getByRole("row").filter({ hasText: "rack" });
    await row.getByText("connected").waitFor();
    await row.getByText("0 of 8").waitFor();
    await row.getByText("not declared").waitFor();
    await row.getByRole("button", { name: "rack" }).click();
    await page.getByLabel("Country").selectOption("DE");
    await page.getByRole("button", { name: "Save country" }).click();
    await row.getByText("Germany").waitFor();
    await page.getByLabel("Node model", { exact: true }).selectOption("llama3:8b");
    const behind = page.getByLabel("Catalogue model", { exact: true });
    await behind.selectOption("sandbox/chat");
    // Nodes only serve chat and embeddings.
    const offered = await behind
      .locator("option")
      .evaluateAll((options) => options.map(({ textContent }) => textContent));
    expect(offered).toContain("sandbox/embed");
    expect(offered).not.toContain("sandbox/listen");
    await page.getByRole("button", { name: "Add mapping" }).click();
    await page.getByText("llama3:8b → sandbox/chat").waitFor();
    expect(await portal.gateway.manage("GET", "/workspaces/demo/nodes/rack")).toMatchObject({
      mapping: { "llama3:8b": "sandbox/chat" },
      country: "DE",
      state: "connected",
    });
    await expectAccessible(page);
    await page.getByRole("button", { name: "Rotate token" }).click();
    await page.getByRole("button", { name: "Rotate token" }).last().click();
    await page.getByText("Waiting for connection").waitFor();
    expect(await agent.over).toContain("revoked");
    await page.getByRole("button", { name: "I copied the token" }).click();
    await page.getByRole("button", { name: "Remove node" }).click();
    await page.getByRole("button", { name: "Remove node" }).last().click();
    await page.getByText("No nodes yet").waitFor();
    expect((await kept()).data).toEqual([]);
  });

  test("PORTAL-01 members see how nodes are and change nothing, on a phone too", async () => {
    const names = ["rack-frankfurt", "studio-lyon", "lab-vienna"];
    for (const [at, country] of ["DE", "FR", "AT"].entries()) {
      const name = names[at] ?? "";
      const { token } = await createNode(portal.gateway, "demo", name, { country });
      if (at < 2) {
        void connect(token);
        await waitForNodeState(portal.gateway, "demo", name, "connected");
      }
    }
    const page = await portal.page("member");
    await page.goto(portal.at("nodes"));
    const row = page.getByRole("row").filter({ hasText: "rack-frankfurt" });
    await row.getByText("connected").waitFor();
    await page.getByRole("row").filter({ hasText: "lab-vienna" }).getByText("Never connected").waitFor();
    await screenshot(page, "nodes");
    expect(await page.getByRole("button", { name: "Add node" }).count()).toBe(0);
    await page.setViewportSize({ width: 380, height: 800 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(380);
    await page.goto(portal.at("nodes?node=studio-lyon"));
    await page.getByText("node/studio-lyon/qwen3:4b").waitFor();
    for (const name of ["Rotate token", "Remove node", "Add mapping"])
      expect(await page.getByRole("button", { name, exact: true }).count()).toBe(0);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(380);
    await expectAccessible(page);
    await screenshot(page, "node");
  });

  test("PORTAL-12 a request to a model of a long name fits on a phone", async () => {
    const model = `hf.co/example/${"Long-".repeat(20)}GGUF`;
    const { slug, key } = await portal.gateway.tenant();
    const { token } = await createNode(portal.gateway, slug, "rack");
    const { url } = await localForTest({ models: [model] });
    agentForTest(portal.gateway.url, token, url);
    await waitForNodeState(portal.gateway, slug, "rack", "connected");
    const body = { model: `node/rack/${model}`, messages: [{ role: "user", content: "Hello." }] };
    const answer = await portal.gateway.call(key, "/v1/chat/completions", { body });
    expect(answer.status).toBe(200);
    const page = await portal.page("operator", { viewport: { width: 380, height: 800 } });
    await page.goto(portal.at(`requests/${answer.body.id}`, slug));
    await page.getByText(/Commit point at/).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(380);
  });
});
