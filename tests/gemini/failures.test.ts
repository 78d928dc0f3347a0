import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson, type Script } from "../support/upstream.ts";

const { D1 } = DIALECT_SCRIPTS;
const HELLO = { contents: [{ role: "user", parts: [{ text: "Hello, how are you today?" }] }] };
const ACTIONS = ["generateContent", "streamGenerateContent?alt=sse", "streamGenerateContent"] as const;

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["deepinfra"], {
    GATEWAY_FIRST_BYTE_TIMEOUT_MS: "300",
    GATEWAY_IDLE_TIMEOUT_MS: "300",
    GATEWAY_WHOLE_RESPONSE_TIMEOUT_MS: "300",
  });
  tenant = await scene.gateway.tenant({ credit: "10" });
});
afterAll(() => scene?.close());

const at = (model: string, action = "generateContent") => `/v1beta/models/${model}:${action}`;

/** Sends a path as it is: `fetch` would resolve its dots. */
function post(path: string, key: string, body: string): ClientRequest {
  const request = httpRequest(scene.gateway.url, {
    method: "POST",
    path,
    agent: false,
    headers: { "x-goog-api-key": key, "content-type": "application/json" },
  });
  request.on("error", () => undefined);
  request.end(body);
  return request;
}

const responseTo = (request: ClientRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => request.once("response", resolve).once("error", reject));

/** In a stream without `alt=sse` an error is an element of an array. */
const errorIn = (body: Json): Json => body.error ?? body[0].error;

async function send(path: string, key: string, body = JSON.stringify(HELLO)): Promise<{ status: number; body: Json }> {
  const response = await responseTo(post(path, key, body));
  return { status: response.statusCode ?? 0, body: JSON.parse(await textOf(response)) };
}

test("GEM-01 GEN-05 a body over the limit is 413 in Google's shape", async () => {
  const body = " ".repeat(33 * 1024 * 1024);
  const answer = await fetch(`${scene.gateway.url}${at(D1.model)}`, {
    method: "POST",
    headers: { "x-goog-api-key": tenant.key, "content-type": "application/json" },
    body,
  });
  const { error } = (await answer.json()) as Json;
  expect([answer.status, error.code, error.status]).toEqual([413, 413, "OUT_OF_RANGE"]);
  expect(error.details[0].metadata.code).toBe("request_too_large");
});

test("GEM-01 RATE-02 over the rate limit is 429 with the delay in the header and in RetryInfo", async () => {
  const slow = await scene.gateway.tenant({ key: { rpm: 1 } });
  scene.at("deepinfra").next({ json: chatJson() });
  expect((await send(at(D1.model), slow.key)).status).toBe(200);
  for (const action of ACTIONS) {
    const response = await responseTo(post(at(D1.model, action), slow.key, JSON.stringify(HELLO)));
    const error = errorIn(JSON.parse(await textOf(response)));
    expect([response.statusCode, error.status, error.details[0].reason]).toEqual([
      429,
      "RESOURCE_EXHAUSTED",
      "RATE_LIMIT_EXCEEDED",
    ]);
    const delay = response.headers["retry-after"];
    expect(Number(delay)).toBeGreaterThan(0);
    expect(error.details.at(-1)).toMatchObject({ retryDelay: `${delay}s` });
  }
});

describe("a silent provider", () => {
  const SILENT: readonly (readonly [string, Script])[] = [
    ["before its headers", { end: { is: "stall", after: "before_headers" } }],
    ["after its headers", { frames: ["x"], end: { is: "stall", after: "after_headers" } }],
  ];
  test.each(SILENT)("GEM-01 ERR-07 %s: 504 DEADLINE_EXCEEDED, free of charge", async (_, script) => {
    const caller = await scene.gateway.tenant({ credit: "10" });
    for (const action of ACTIONS) {
      scene.at("deepinfra").next(script);
      const { status, body } = await send(at(D1.model, action), caller.key);
      const error = errorIn(body);
      expect([status, error.status, error.details[0].metadata.code]).toEqual([
        504,
        "DEADLINE_EXCEEDED",
        "upstream_timeout",
      ]);
    }
    expect(await scene.charges(caller)).toEqual([]);
  });

  test("GEM-01 ERR-07 in the middle of a stream ends it with Google's error object", async () => {
    const frames = chatFrames(["Some", " words"]).slice(0, 3);
    const script: Script = { frames, end: { is: "stall", after: Buffer.byteLength(frames.join("")) } };
    scene.at("deepinfra").next(script);
    const response = await responseTo(
      post(at(D1.model, "streamGenerateContent?alt=sse"), tenant.key, JSON.stringify(HELLO)),
    );
    let read = "";
    response.setEncoding("utf8");
    await expect(
      (async () => {
        for await (const piece of response) read += String(piece);
      })(),
    ).rejects.toThrow("aborted");
    const { error } = JSON.parse(
      read
        .trim()
        .split(/\r?\n\r?\n/)
        .at(-1)
        ?.replace(/^data: /, "") ?? "",
    );
    expect([error.code, error.status]).toEqual([504, "DEADLINE_EXCEEDED"]);
  });
});

describe("a client that disconnects", () => {
  const waiting = chatFrames(["Some", " words"]).slice(0, 3);
  test.each(ACTIONS)("GEM-01 CHAT-09 %s: the provider's call is cancelled and logged as 499", async (action) => {
    const caller = await scene.gateway.tenant({ credit: "10" });
    const upstream = scene.at("deepinfra");
    const isStream = action !== "generateContent";
    upstream.next(
      isStream
        ? { frames: waiting, end: { is: "stall", after: Buffer.byteLength(waiting.join("")) } }
        : { end: { is: "stall", after: "before_headers" } },
    );
    const reached = upstream.arrived(upstream.requests.length + 1);
    const request = post(at(D1.model, action), caller.key, JSON.stringify(HELLO));
    const received = await reached;
    if (isStream) {
      const response = await responseTo(request);
      await new Promise((resolve) => response.once("data", resolve));
    }
    request.destroy();
    expect(await received.over).toBe("aborted");
    const [row] = await scene.rowsOnce(caller, 1);
    expect(row).toMatchObject({ surface: "gemini", status: 499, error_code: "client_disconnected" });
    expect(await scene.charges(caller)).toHaveLength(isStream ? 1 : 0);
    expect(await scene.wallet(caller)).toMatchObject({ held: "0.00" });
  });
});

test("GEM-01 dots in {model} are part of a name that no model has, and reach no provider", async () => {
  const before = scene.at("deepinfra").requests.length;
  for (const name of ["..", "../..", "a/../b", "..%2F..%2Fadmin", "%2e%2e", `${D1.model}/..`]) {
    const { status, body } = await send(at(name), tenant.key);
    expect([name, status, body.error.status, body.error.details[0].reason]).toEqual([
      name,
      404,
      "NOT_FOUND",
      "MODEL_NOT_FOUND",
    ]);
  }
  expect(scene.at("deepinfra").requests.length).toBe(before);
});
