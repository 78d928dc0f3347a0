import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SETTINGS } from "../../src/settings/config.ts";
import { eventually } from "../support/eventually.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { credentialOf, eventsOf, MODEL, openScene, type Scene } from "../support/scene.ts";
import { openResponse } from "../support/streaming-response.ts";
import { chatFrames, sse } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["deepinfra"], { GATEWAY_KEEP_ALIVE_MS: "20" });
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

/** The frames of a reply with a long silence before the frame at this index. */
function silentBefore(frameIndex: number) {
  return [...chatFrames(["Hello", " there"], { usage: "asked" })].map((data, index) =>
    index === frameIndex ? { data: Buffer.from(String(data)), afterMs: 400 } : data,
  );
}

test("CHAT-10 a silent stream gets repeated comment lines and otherwise stays the same", async () => {
  const [role = "", first = ""] = chatFrames(["Hello"], {});
  scene.at("deepinfra").next({ frames: [role, first], end: { is: "stall", after: Buffer.byteLength(role + first) } });
  const open = await scene.open(tenant.key, { stream: true });
  await eventually(() => expect(open.text).toMatch(/Hello.*(?:: keep-alive\n\n){3}/s));
  open.hangUp();
  scene.at("deepinfra").next({ frames: silentBefore(2) });
  const { text } = await scene.chat(tenant.key, { stream: true });
  expect(text).toContain(": keep-alive\n\n");
  expect(text.split("\n\n").filter((block) => block !== "" && !/^(data: |: keep-alive$)/.test(block))).toEqual([]);
  expect(eventsOf(text).at(-1)).toBe("[DONE]");
});

test("CHAT-10 while a model reasons silently, the response begins with comments and continues live", async () => {
  const [role = "", word = ""] = chatFrames(["Hello"], {});
  const speaks = Promise.withResolvers<void>();
  scene.at("deepinfra").next({ frames: [role, { data: word, afterMs: 0, gate: speaks.promise }, "data: [DONE]\n\n"] });
  const open = await scene.open(tenant.key, { stream: true });
  const startMs = performance.now();
  await open.until(": keep-alive\n\n: keep-alive\n\n");
  expect(open.response.headers["x-svc-provider"]).toBe("deepinfra");
  expect(open.text).toMatch(/^data: .*"role":"assistant".*\n\n: keep-alive/);
  expect(open.text).not.toContain("Hello");
  const silentMs = performance.now() - startMs;
  speaks.resolve();
  await open.until("[DONE]");
  // Time to first byte is that of the model's first token: routers choose by it.
  expect((await scene.row(String(open.response.headers["x-svc-request-id"]))).ttfb_ms).toBeGreaterThan(silentMs);
  expect(open.text.match(/"role":"assistant"/g)).toHaveLength(1);
  expect(open.text.indexOf("Hello")).toBeGreaterThan(open.text.indexOf(": keep-alive"));
});

test("CHAT-10 CHAT-09 a disconnect before any content is free, whatever keep-alives were sent", async () => {
  const disconnecting = await scene.gateway.tenant();
  const [role = ""] = chatFrames([], {});
  scene.at("deepinfra").next({ frames: [role], end: { is: "stall", after: Buffer.byteLength(role) } });
  const open = await scene.open(disconnecting.key, { stream: true });
  await open.until(": keep-alive\n\n");
  open.hangUp();
  const [row] = await scene.rowsOnce(disconnecting, 1);
  expect(row).toMatchObject({ status: 499, error_code: "client_disconnected", cost: "0.00" });
  expect(await scene.charges(disconnecting)).toEqual([]);
  expect(await scene.wallet(disconnecting)).toMatchObject({ held: "0.00" });
});

test("CHAT-10 ERR-02 a provider that breaks off after keep-alives ends the response with an error, free of charge", async () => {
  const caller = await scene.gateway.tenant();
  const breaks = Promise.withResolvers<void>();
  scene
    .at("deepinfra")
    .next({ frames: [": waiting\n\n", { data: "data: [DONE]\n\n", afterMs: 0, gate: breaks.promise }] });
  const open = await scene.open(caller.key, { stream: true });
  await open.until(": keep-alive\n\n");
  breaks.resolve();
  await open.until('"request_id"');
  expect(open.text).not.toContain("[DONE]");
  expect(await scene.charges(caller)).toEqual([]);
});

const [ROLE = "", WORD = ""] = chatFrames(["Hello"], {});
const FLAGGED = { message: `Flagged by our filter, ${credentialOf("deepinfra")}`, code: 400 };
const REFUSED = { code: "provider_error", message: "Flagged by our filter, [redacted]" };
const BROKE = { code: "upstream_error", message: expect.stringContaining("failed before the end") };

test.each([
  ["an error of the request, after keep-alives", [ROLE], ": keep-alive\n\n", FLAGGED, REFUSED, 0],
  ["an error of the request, after the first token", [ROLE, WORD], "Hello", FLAGGED, REFUSED, 0],
  ["a loop of gateways", [ROLE, WORD], "Hello", { message: "loop", code: 508 }, BROKE, 0],
  ["a failure of the provider", [ROLE, WORD], "Hello", { message: "on fire", code: 500 }, BROKE, 1],
])(
  "ERR-06 ROUTE-05 a stream that ends for %s reports it, is free, and counts as a failure only of the responsible party",
  async (_, frames, prefix, problem, expected, failures) => {
    const caller = await scene.gateway.tenant();
    const failed = async () => {
      const { data } = await scene.gateway.manage("GET", "/endpoints?provider=deepinfra");
      return data.find(({ model }: Json) => model === MODEL).failed;
    };
    const before = await failed();
    const refuses = Promise.withResolvers<void>();
    const frame = { data: sse({ error: problem }), afterMs: 0, gate: refuses.promise };
    scene.at("deepinfra").next({ frames: [...frames, frame] });
    const open = await scene.open(caller.key, { stream: true });
    await open.until(prefix);
    refuses.resolve();
    await open.over;
    const { error } = JSON.parse(eventsOf(open.text).at(-1) ?? "");
    expect(error).toMatchObject(expected);
    expect(await scene.row(error.request_id)).toMatchObject({ status: 200, error_code: expected.code, cost: "0.00" });
    expect(await scene.charges(caller)).toEqual([]);
    expect((await failed()) - before).toBe(failures);
  },
);

test("CHAT-10 RESP-04 a follower of a background response gets keep-alives too", async () => {
  const [role = "", word = ""] = chatFrames(["Hello"], {});
  const speaks = Promise.withResolvers<void>();
  scene.at("deepinfra").next({ frames: [role, { data: word, afterMs: 0, gate: speaks.promise }, "data: [DONE]\n\n"] });
  const body = { model: MODEL, input: "Say hello.", background: true, stream: true };
  const open = await openResponse(scene.gateway.url, tenant.key, { path: "/v1/responses", body });
  await open.until(": keep-alive\n\n: keep-alive\n\n");
  speaks.resolve();
  await open.until("response.completed");
  expect(open.text.indexOf(": keep-alive")).toBeLessThan(open.text.indexOf("Hello"));
});

test("CHAT-10 the official client gets the same chunks with and without comment lines", async () => {
  const client = new OpenAI({ baseURL: `${scene.gateway.url}/v1`, apiKey: tenant.key });
  const pieces: string[] = [];
  scene.at("deepinfra").next({ frames: silentBefore(2) });
  const stream = await client.chat.completions.create({
    model: MODEL,
    messages: [{ role: "user", content: "Say hello." }],
    stream: true,
  });
  for await (const chunk of stream) pieces.push(chunk.choices[0]?.delta.content ?? "");
  expect(pieces.join("")).toBe("Hello there");
});

test("CHAT-10 the default interval is 15 s", () => {
  expect(SETTINGS.GATEWAY_KEEP_ALIVE_MS.fallback).toBe(15_000);
});
