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
import { pick } from "./support/pick.ts";
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

  test("PORTAL-01 NODE-04 NODE-05 NODE-06 a node is added with one command, attested, mapped, gets a new token, and is removed", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("nodes"));
    await page.getByText("No nodes yet").waitFor();
    await page.getByText(/node agent\.mjs --url/).waitFor();
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
    // NODE-06: one command each, with the token filled in.
    const command = dialog.getByRole("region", { name: "Run the agent" });
    await dialog.getByRole("radio", { name: "vLLM" }).check();
    const url = portal.gateway.url.replace("127.0.0.1", "localhost");
    expect((await command.textContent())?.replace(/ \\\n\s*/g, " ")).toBe(
      `curl -fsSLO ${url}/node/agent.mjs && GATEWAY_NODE_TOKEN=${token} node agent.mjs --url ${url} --upstream http://127.0.0.1:8000/v1`,
    );
    await dialog.getByRole("tab", { name: "Docker" }).click();
    await command.getByText(`-e GATEWAY_NODE_TOKEN=${token} node:`).waitFor();
    await dialog.getByText("Works behind NAT", { exact: false }).waitFor();
    await expectAccessible(page);
    const agent = connect(token);
    await dialog.getByText("Serves llama3:8b, qwen3:4b, nomic-embed-text.").waitFor();
    await dialog.getByRole("button", { name: "I copied the token" }).click();
    // Shown once: nothing of it is on the page any more.
    expect(await page.content()).not.toContain(token);
    const row = page.getByRole("row", { includeHidden: true }).filter({ hasText: "rack" });
    await row.getByText("connected").waitFor();
    await row.getByText("0 of 8").waitFor();
    await row.getByText("not declared").waitFor();
    await row.getByRole("button", { name: "rack" }).click();
    await pick(page.getByLabel("Country"), "Germany");
    await page.getByRole("button", { name: "Save country" }).click();
    await row.getByText("Germany").waitFor();
    // NODE-04: the country decides the level, an admin attests a higher one.
    await row.getByText(/^L1/).waitFor();
    await page.getByRole("button", { name: "Attest level" }).click();
    await page.getByLabel("Level", { exact: true }).selectOption("L3");
    await page.getByLabel("Name", { exact: true }).fill("Ada Moreau");
    await page.getByLabel("Reason", { exact: true }).fill("Own hardware in our own building.");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Attest level" }).last().click();
    await row.getByText("attested").waitFor();
    await page.getByText("Own hardware in our own building.").waitFor();
    // NODE-05: surfaces can be set explicitly.
    const surfaces = page.getByLabel("Surfaces of qwen3:4b");
    await surfaces.selectOption("embeddings");
    await page.getByText("Surfaces saved").waitFor();
    await page.getByLabel("Node model", { exact: true }).selectOption("llama3:8b");
    const behind = page.getByLabel("Catalogue model", { exact: true });
    await pick(behind, "sandbox/chat");
    // Nodes only serve chat and embeddings.
    await behind.click();
    await page.getByRole("option").filter({ hasText: "sandbox/embed" }).first().waitFor();
    const offered = await page.getByRole("option").allTextContents();
    await page.keyboard.press("Escape");
    expect(offered).toContain("sandbox/embed");
    expect(offered).not.toContain("sandbox/listen");
    await page.getByRole("button", { name: "Add mapping" }).click();
    await page.getByText("llama3:8b → sandbox/chat").waitFor();
    expect(await portal.gateway.manage("GET", "/workspaces/demo/nodes/rack")).toMatchObject({
      mapping: { "llama3:8b": "sandbox/chat" },
      country: "DE",
      level: "L3",
      attestation: { name: "Ada Moreau" },
      surfaces: { "qwen3:4b": ["embeddings"] },
      state: "connected",
    });
    await page.getByRole("button", { name: "Withdraw" }).click();
    await page.getByRole("button", { name: "Withdraw" }).last().click();
    await page.getByText("None. The level follows from the country.").waitFor();
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

  test("NODE-06 a node with an older agent shows the update command", async () => {
    const { slug } = await portal.gateway.tenant();
    const { token } = await createNode(portal.gateway, slug, "attic");
    agentForTest(portal.gateway.url, token, local.url, { version: "0.0.9" });
    await waitForNodeState(portal.gateway, slug, "attic", "connected");
    const page = await portal.page("operator");
    await page.goto(portal.at("nodes", slug));
    await page.getByRole("row").filter({ hasText: "attic" }).getByText("Update agent").waitFor();
    await page.goto(portal.at("nodes?node=attic", slug));
    await page.getByText("The agent is version 0.0.9, the gateway").waitFor();
    await page.getByText(/^curl -fsSLO http:\/\/localhost:\d+\/node\/agent\.mjs$/).waitFor();
    await expectAccessible(page);
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
