import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import {
  chatAnswer,
  createNode,
  type LocalServer,
  type RunningAgent,
  startAgent,
  startLocal,
  waitForNodeState,
} from "../support/nodes.ts";
import { connectedTo, MODEL } from "../support/scene.ts";
import { chatJson, startUpstream, type Upstream } from "../support/upstream.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { ScreenVisitor, screenPaths } from "./support/visit-screens.ts";

/** A script for one field; its name is shown as text wherever the field is. */
const script = (field: string) =>
  `"><img src=x onerror="window.__ran='${field}'"><svg/onload=window.__ran=1>@${field}@`;
/** For fields that are shown as links. */
const LINK = "javascript:window.__ran='link'";

/** Each field must be shown by a screen, so that the test proves something about it. */
const SHOWN = [
  ...["workspace", "key", "token", "person", "credit", "promotion", "correction", "capture", "attester", "attestation"],
  ...["app", "asked-model", "served-text", "prompt", "node-model", "node-text"],
] as const;

const PAGES = 2;

/** What a screen made of planted values: nothing ran, and no element or link came of them. */
const TRACES = `({
  ran: window.__ran ?? null,
  elements: [...document.querySelectorAll('img[src="x"], [onerror], [onload], a[href^="javascript:" i], iframe, object, embed')]
    .map((one) => one.outerHTML.slice(0, 200)),
  text: document.body.innerText + [...document.querySelectorAll("input, textarea")].map((one) => one.value).join(" "),
})`;

describe.skipIf(!hasChromium)("scripts that tenants, providers and nodes store", () => {
  let portal: Portal;
  let upstream: Upstream;
  let local: LocalServer;
  let agent: RunningAgent;
  const requestIds: string[] = [];

  beforeAll(async () => {
    upstream = await startUpstream(() => ({ json: chatJson({ content: `${script("served-text")} [x](${LINK})` }) }));
    local = await startLocal({
      // Ids of models have no spaces.
      models: ['"><img/src=x/onerror=window.__ran=1>@node-model@'],
      answer: (body, response) => {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(chatAnswer(body.model, `${script("node-text")} [x](${LINK}) ![x](${LINK})`)));
      },
    });
    portal = await openPortal({ ...connectedTo(new Map([["deepinfra", upstream]])), GATEWAY_WEBHOOK_PRIVATE: "on" });
    await plant(portal);
  }, 60_000);
  afterAll(async () => {
    await agent?.stop();
    await Promise.all([local?.close(), upstream?.close(), portal?.close()]);
  });

  async function plant({ gateway }: Portal): Promise<void> {
    const at = "/workspaces/demo";
    const soon = new Date(Date.now() + 86_400_000).toISOString();
    await portal.person("operator");
    await gateway.manage("PATCH", at, { name: script("workspace").slice(-100) });
    const { key } = await gateway.manage("POST", `${at}/keys`, {
      name: script("key").slice(-100),
      environment: "live",
    });
    await gateway.manage("POST", `${at}/tokens`, { name: script("token").slice(-100), access: "read" });
    await gateway.manage("POST", `${at}/wallet/credits`, { amount: "9", note: script("credit") });
    const promotion = { amount: "1", expires_at: soon, reference: "promo", note: script("promotion") };
    await gateway.manage("POST", `${at}/wallet/promotions`, promotion);
    const correction = { direction: "down", amount: "0.01", reference: "c-1", reason: script("correction") };
    await gateway.manage("POST", `${at}/wallet/adjustments`, correction);
    await gateway.manage("POST", `${at}/capture-windows`, { minutes: 30, reason: script("capture") });
    const { link } = await gateway.manage("POST", `${at}/invitations`, { email: "mallory@example.eu", role: "member" });
    const token = new URL(String(link), portal.origin).searchParams.get("token") ?? "";
    const person = { name: script("person").slice(-100), password: "seven wet otters knit" };
    await gateway.call("", `/manage/invitations/${encodeURIComponent(token)}/accept`, {
      body: person,
      headers: { origin: portal.origin },
    });
    const node = await createNode(gateway, "demo", "rack");
    agent = startAgent(gateway.url, node.token, local.url, { version: script("agent").slice(0, 60) });
    await waitForNodeState(gateway, "demo", "rack", "connected");
    const attestation = { level: "L3", name: script("attester").slice(-100), reason: script("attestation") };
    await gateway.manage("PUT", `${at}/nodes/rack/attestation`, attestation);
    const { data: models } = (await gateway.call(String(key), "/v1/models")).body;
    const nodeModel = models.map(({ id }: Json) => id).find((id: string) => id.includes("rack"));
    for (const model of [MODEL, nodeModel ?? MODEL, script("asked-model")]) {
      const messages = [{ role: "user", content: script("prompt") }];
      const { headers } = await gateway.call(String(key), "/v1/chat/completions", {
        body: { model, messages, max_tokens: 50, user: script("user") },
        headers: {
          "x-title": script("app"),
          "user-agent": script("agent"),
          "x-client-request-id": script("client-id"),
        },
      });
      requestIds.push(headers.get("x-svc-request-id") ?? "");
    }
    await gateway.call(String(key), "/v1/responses", { body: { model: MODEL, input: script("prompt") } });
  }

  test("PORTAL-11 no stored value runs or becomes markup on any screen", { timeout: 120_000 }, async () => {
    const requests = requestIds.map((id) => `/app/w/demo/requests/${id}`);
    const paths = [...new Set([...(await screenPaths(portal)), ...requests])];
    const shown: string[] = [];
    const harm: unknown[] = [];
    const look = async (page: Page, path: string) => {
      const { ran, elements, text } = (await page.evaluate(TRACES)) as {
        ran: unknown;
        elements: string[];
        text: string;
      };
      shown.push(text);
      if (ran !== null || elements.length > 0) harm.push({ path, ran, elements });
    };
    const visit = async (page: Page) => {
      const { visitor } = await ScreenVisitor.create(page, portal.origin);
      await visitor.visit(portal.at().slice(portal.origin.length));
      for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
        await visitor.navigate(path);
        const content = page.getByRole("button", { name: "Show content" });
        if (requests.includes(path) && (await content.count()) > 0) {
          await content.click();
          await page.getByRole("region", { name: "Captured request", exact: true }).waitFor();
        }
        await look(page, path);
      }
    };
    const pages = await Promise.all(
      Array.from({ length: PAGES }, () => portal.page("operator", { allow: [/status of 404/] })),
    );
    await Promise.all(pages.map(visit));
    expect(harm).toEqual([]);
    const all = shown.join("\n");
    expect(SHOWN.filter((field) => !all.includes(`@${field}@`))).toEqual([]);
  });
});
