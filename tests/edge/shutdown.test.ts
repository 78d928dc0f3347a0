import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, get, type IncomingMessage } from "node:http";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { changedCatalogue } from "../support/changed-catalogue.ts";
import { chatFrames, chatJson } from "../support/chat-bodies.ts";
import { startGateway } from "../support/gateway.ts";
import { agentForTest, createNode, localForTest, waitForNodeState } from "../support/nodes.ts";
import { connectedTo, contentOf, eventsOf, MODEL, openChat } from "../support/scene.ts";
import { startUpstream } from "../support/upstream.ts";

/** The result of a connection to a closed port. */
const REFUSED = [() => "no", () => "yes"] as const;

test("OPS-01, ERR-02 a stream that outlasts the drain ends with an error frame and is free", async () => {
  const [role = "", first = ""] = chatFrames(["Hello"]);
  const upstream = await startUpstream({
    frames: [role, first],
    end: { is: "stall", after: role.length + first.length },
  });
  const gateway = await startGateway({
    env: {
      GATEWAY_DRAIN_TIMEOUT_MS: "100",
      PROVIDER_SCALEWAY_API_KEY: "k",
      PROVIDER_SCALEWAY_BASE_URL: upstream.baseUrl,
    },
  });
  const { key } = await gateway.tenant();
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "openai/gpt-oss-120b", stream: true, messages: [{ role: "user", content: "x" }] }),
  });
  const id = response.headers.get("x-svc-request-id");
  const [text] = await Promise.all([response.text(), gateway.close()]);
  expect(text).toContain("Hello");
  expect(text).not.toContain("[DONE]");
  expect(JSON.parse(text.trim().split("\n\n").at(-1)?.slice(6) ?? "")).toMatchObject({
    error: { code: "service_unavailable", message: expect.stringContaining("is stopping"), request_id: id },
  });
  await upstream.close();
});

test("OPS-01, LOG-01 a request without a response at the end of the drain is refused, not retried, and logged", async () => {
  const silent = await startUpstream({ end: { is: "stall", after: "before_headers" } });
  const other = await startUpstream();
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "gateway-test-"));
  const env = {
    GATEWAY_DRAIN_TIMEOUT_MS: "100",
    PROVIDER_SCALEWAY_API_KEY: "k",
    PROVIDER_SCALEWAY_BASE_URL: silent.baseUrl,
    PROVIDER_NEBIUS_API_KEY: "k",
    PROVIDER_NEBIUS_BASE_URL: other.baseUrl,
  };
  const gateway = await startGateway({ env, dataDir });
  const { key, slug } = await gateway.tenant();
  const pending = gateway.call(key, "/v1/chat/completions", {
    body: {
      model: "openai/gpt-oss-120b",
      provider: { order: ["scaleway"] },
      messages: [{ role: "user", content: "x" }],
    },
  });
  await silent.arrived(1);
  const [reply] = await Promise.all([pending, gateway.close()]);
  expect(reply.status).toBe(503);
  expect(reply.headers.get("retry-after")).not.toBeNull();
  expect(reply.body.error).toMatchObject({
    code: "service_unavailable",
    message: expect.stringContaining("is stopping"),
  });
  expect(other.requests).toHaveLength(0);

  const next = await startGateway({ env, dataDir });
  const { data } = await next.manage("GET", `/workspaces/${slug}/requests`);
  expect(data).toMatchObject([
    { id: reply.body.error.request_id, status: 503, error_code: "service_unavailable", cost: "0.00" },
  ]);
  expect(data[0].attempts).toMatchObject([
    { provider: "scaleway", outcome: "stop", reason: "the gateway is stopping", maybe_accepted: true },
  ]);
  await next.close();
  await Promise.all([silent.close(), other.close(), rm(dataDir, { recursive: true, force: true })]);
});

test("OPS-01, NODE-02 a request for a node is refused too at the end of the drain, whole or streamed, and not retried", async () => {
  const [role = "", first = ""] = chatFrames(["Hello"], { model: "tiny" });
  const local = await localForTest({
    answer(body, response) {
      if (body.stream !== true) return;
      response.setHeader("content-type", "text/event-stream");
      response.write(role + first);
    },
  });
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "gateway-test-"));
  const env = { GATEWAY_DRAIN_TIMEOUT_MS: "100" };
  const gateway = await startGateway({ env, dataDir });
  const { key, slug } = await gateway.tenant();
  const { token } = await createNode(gateway, slug, "rack");
  agentForTest(gateway.url, token, local.url, { finishMs: 1 });
  await waitForNodeState(gateway, slug, "rack", "connected");
  const body = { model: "node/rack/tiny", messages: [{ role: "user", content: "x" }] };
  const pending = gateway.call(key, "/v1/chat/completions", { body });
  const stream = await openChat(gateway.url, key, { ...body, stream: true });
  await stream.until("Hello");
  await expect.poll(() => local.received.length).toBe(2);
  const [reply] = await Promise.all([pending, stream.over, gateway.close()]);
  const stopped = { code: "service_unavailable", message: expect.stringContaining("is stopping") };
  expect([reply.status, reply.body.error]).toMatchObject([503, stopped]);
  expect(reply.headers.get("retry-after")).not.toBeNull();
  expect(contentOf(stream.text)).toBe("Hello");
  expect(JSON.parse(eventsOf(stream.text).at(-1) ?? "")).toMatchObject({ error: stopped });
  expect(local.received).toHaveLength(2);

  const next = await startGateway({ env, dataDir });
  const { data } = await next.manage("GET", `/workspaces/${slug}/requests`);
  const ofWhole = data.find(({ id }: { id: string }) => id === reply.body.error.request_id);
  const ofStream = data.find(({ id }: { id: string }) => id !== reply.body.error.request_id);
  expect([data.length, ofWhole.status, ofStream.status]).toEqual([2, 503, 200]);
  expect([ofWhole.error_code, ofStream.error_code]).toEqual(["service_unavailable", "service_unavailable"]);
  expect(ofWhole.attempts).toMatchObject([
    { provider: "node-rack", outcome: "stop", reason: "the gateway is stopping", maybe_accepted: true },
  ]);
  await next.close();
  await rm(dataDir, { recursive: true, force: true });
});

test.each([
  { drainMs: 60_000, what: "is heard to its end before the gateway has stopped", output: 5000, over: "whole" },
  { drainMs: 100, what: "is charged as far as it was heard when the drain is over", output: 2, over: "aborted" },
])("OPS-01 BILL-02 a response that the provider bills after a disconnect $what", async ({ drainMs, output, over }) => {
  const rest = Promise.withResolvers<void>();
  const [role = "", first = "", ...others] = chatFrames(["Hello", " there"], { usage: "asked" });
  const counted = others.map((frame) => frame.replace(/"completion_tokens":\d+/, '"completion_tokens":5000'));
  const upstream = await startUpstream({
    frames: [role, first, { data: counted.join(""), afterMs: 0, gate: rest.promise }],
  });
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "gateway-test-"));
  const env = {
    ...connectedTo(new Map([["ovhcloud", upstream]])),
    GATEWAY_DRAIN_TIMEOUT_MS: String(drainMs),
    GATEWAY_CATALOGUE_DIR: changedCatalogue({
      ovhcloud: (facts) => Object.assign(facts, { quirks: ["bills-on"] }),
    }),
  };
  const gateway = await startGateway({ env, dataDir });
  const { key, slug } = await gateway.tenant({ credit: "10" });
  const body = { model: MODEL, stream: true, messages: [{ role: "user", content: "x" }] };
  const stream = await openChat(gateway.url, key, body);
  await stream.until("Hello");
  stream.hangUp();
  const metrics = async () => (await fetch(`${gateway.url}/metrics`)).text();
  await expect.poll(metrics).toContain('gateway_http_requests_total{route="createChatCompletion",status="200"} 1');
  expect(await metrics()).toContain("gateway_running_requests 2");
  const closed = gateway.close();
  await expect.poll(() => fetch(gateway.url).then(...REFUSED)).toBe("yes");
  if (over === "whole") rest.resolve();
  expect(await upstream.requests[0]?.over).toBe(over);
  rest.resolve();
  await closed;

  const next = await startGateway({ env, dataDir });
  const { data } = await next.manage("GET", `/workspaces/${slug}/requests`);
  const usage = { output_tokens: output, estimated: over === "aborted" };
  expect(data).toMatchObject([{ status: 499, error_code: "client_disconnected", usage }]);
  await next.close();
  await Promise.all([upstream.close(), rm(dataDir, { recursive: true, force: true })]);
});

test("OPS-01 a response in flight when the shutdown began asks its client to reconnect", async () => {
  const gate = Promise.withResolvers<void>();
  const upstream = await startUpstream({ json: chatJson(), gate: gate.promise });
  const gateway = await startGateway({
    env: { PROVIDER_SCALEWAY_API_KEY: "k", PROVIDER_SCALEWAY_BASE_URL: upstream.baseUrl },
  });
  const { key } = await gateway.tenant();
  const pending = gateway.call(key, "/v1/chat/completions", {
    body: { model: "openai/gpt-oss-120b", messages: [{ role: "user", content: "x" }] },
  });
  await upstream.arrived(1);
  const closed = gateway.close();
  await expect.poll(() => fetch(gateway.url).then(...REFUSED)).toBe("yes");
  gate.resolve();
  const answer = await pending;
  expect([answer.status, answer.headers.get("connection")]).toEqual([200, "close"]);
  await closed;
  await upstream.close();
});

test("OPS-01 a stopping gateway accepts requests for a while, reports it on /readyz, and closes connections", async () => {
  const gateway = await startGateway({ env: { GATEWAY_DRAIN_DELAY_MS: "1500" } });
  const closed = gateway.close();
  let ready = await gateway.call("", "/readyz");
  while (ready.status === 200) ready = await gateway.call("", "/readyz");
  expect(ready.status).toBe(503);
  const served = await gateway.call(gateway.key, "/v1/chat/completions", {
    body: { model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }] },
  });
  expect(served.status).toBe(200);
  expect(served.headers.get("connection")).toBe("close");
  await closed;
  await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow();
});

test("SCALE-04 OPS-01 if other instances share the address, an idle connection stays open until its next use", async () => {
  const gateway = await startGateway();
  const agent = new Agent({ keepAlive: true });
  const look = async () => {
    const [response]: IncomingMessage[] = await once(get(`${gateway.url}/healthz`, { agent }), "response");
    await response?.resume().toArray();
    return [response?.statusCode, response?.headers.connection];
  };
  expect(await look()).toEqual([200, "keep-alive"]);
  const closed = gateway.close("keep");
  await expect.poll(() => fetch(gateway.url).then(...REFUSED)).toBe("yes");
  expect(await look()).toEqual([200, "close"]);
  await closed;
});
