import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import "../support/seed.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { catalogueWithExtras, perUse } from "../support/priced-extras.ts";
import { gate } from "../support/response-callers.ts";
import {
  eventsIn,
  frameOf,
  messageItem,
  RESPONSE_USAGE,
  responseEvents,
  responseFrames,
  responseJson,
  thoughtItem,
  UPSTREAM_RESPONSE_ID,
} from "../support/responses-native.ts";
import { costNanos, credentialOf, MODEL, openScene, type Scene } from "../support/scene.ts";
import { openResponse } from "../support/streaming-response.ts";
import { chatFrames } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;

/** Two providers of the dialect, the cheaper one first, then one of another dialect. */
beforeAll(async () => {
  const prices = { code_execution: perUse("0.03"), web_search: perUse("0.01") };
  scene = await openScene(["ovhcloud", "scaleway", "ionos"], {
    GATEWAY_CATALOGUE_DIR: catalogueWithExtras({ ovhcloud: prices }),
  });
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const PLAIN = { model: MODEL, input: "Say hello.", store: false };
const USED = { input: 40, cached: 8, output: 12 };

function ask(body: Record<string, unknown> | string): Promise<Called> {
  return scene.gateway.call(tenant.key, "/v1/responses", { body });
}

const last = (provider: "ovhcloud" | "scaleway" | "ionos") => scene.at(provider).requests.at(-1);

async function expectBooked(requestId: string): Promise<number> {
  const nanos = costNanos("ovhcloud", USED);
  expect((await scene.charges(tenant)).filter(({ id }) => id === `charge:${requestId}`)).toEqual([
    { id: `charge:${requestId}`, nanos },
  ]);
  expect((await scene.row(requestId)).usage).toMatchObject({
    input_tokens: 40,
    cached_tokens: 8,
    output_tokens: 12,
    reasoning_tokens: 5,
    estimated: false,
  });
  return Number(nanos) / 1e9;
}

test("RESP-01 ROUTE-05 very long instructions that the provider repeats before any output are not a failure", async () => {
  const instructions = "Be brief. ".repeat(70_000);
  const frames = responseFrames(["Hello"], { instructions });
  // More often than the circuit breaker's threshold.
  for (let time = 0; time < 6; time += 1) {
    scene.at("ovhcloud").next({ frames });
    const { status, text } = await ask({ ...PLAIN, instructions, stream: true });
    expect([status, eventsIn(text).at(-1).type]).toEqual([200, "response.completed"]);
  }
  scene.at("ovhcloud").next({ json: responseJson() });
  expect((await ask(PLAIN)).headers.get("x-svc-provider")).toBe("ovhcloud");
});

describe("a response, whole", () => {
  test("RESP-01 HDR-01 HDR-02 BILL-02 it uses the provider's own API and returns with the gateway's id, billed by its usage", async () => {
    scene.at("ovhcloud").next({ json: responseJson() });
    const { status, headers, body } = await ask(PLAIN);
    expect(status).toBe(200);
    expect(headers.get("x-svc-upstream-surface")).toBe("responses");
    expect(headers.get("x-svc-provider")).toBe("ovhcloud");
    expect(body.id).toMatch(/^resp_/);
    expect(body.id).toBe(headers.get("x-svc-request-id"));
    const cost = await expectBooked(body.id);
    expect(body).toEqual({ ...responseJson(), id: body.id, usage: { ...RESPONSE_USAGE, cost, currency: "EUR" } });
    const { path, headers: sent } = last("ovhcloud") ?? { path: "", headers: {} };
    expect(path).toBe("/v1/responses");
    expect(sent["authorization"]).toBe(`Bearer ${credentialOf("ovhcloud")}`);
  });

  test("RESP-01 unknown fields are forwarded unchanged in both directions", async () => {
    const unknown = fc.dictionary(fc.stringMatching(/^x_[a-z]{1,6}$/), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 });
    const indent = fc.constantFrom(0, 1, 2);
    await fc.assert(
      fc.asyncProperty(unknown, unknown, indent, async (request, answered, spaces) => {
        fc.pre(!JSON.stringify([request, answered]).includes("__proto__"));
        const text = JSON.stringify({ ...request, ...PLAIN }, undefined, spaces);
        const answer = JSON.stringify({ ...responseJson(), ...answered }, undefined, spaces);
        scene.at("ovhcloud").next({ body: answer });
        const called = await ask(text);
        expect(called.status, called.text).toBe(200);
        expect(last("ovhcloud")?.raw.toString()).toBe(text.replace(`"${MODEL}"`, '"gpt-oss-120b"'));
        const id = String(called.headers.get("x-svc-request-id"));
        const { cost } = called.body.usage;
        const expected = answer
          .replace(UPSTREAM_RESPONSE_ID, id)
          .replace(/("total_tokens": ?52\s*)\}/, `$1,"cost":${cost},"currency":"EUR"}`);
        expect(called.text).toBe(expected);
      }),
      { numRuns: 30 },
    );
  });

  test("RESP-05 the provider never stores anything, whatever the caller requests", async () => {
    for (const store of [false, null]) {
      scene.at("ovhcloud").next({ json: responseJson() });
      await ask({ ...PLAIN, store });
      expect(last("ovhcloud")?.json).toMatchObject({ store: false });
    }
  });

  test("RESP-05 reasoning is tagged with its provider and sent back to it without the tag", async () => {
    scene.at("ovhcloud").next({ json: responseJson({ output: [thoughtItem("gAAAA=="), messageItem("Hi")] }) });
    const { body } = await ask(PLAIN);
    expect(body.output).toEqual([thoughtItem("gw1:responses.ovhcloud:gAAAA=="), messageItem("Hi")]);
    scene.at("ovhcloud").next({ json: responseJson() });
    await ask({ ...PLAIN, input: [...body.output, { role: "user", content: "Go on." }] });
    const { id: _, ...thought } = thoughtItem("gAAAA==");
    const { id: __, ...message } = messageItem("Hi");
    expect(last("ovhcloud")?.json).toMatchObject({ input: [thought, message, { role: "user", content: "Go on." }] });
  });

  test("ERR-06 errors about the caller's request are passed on, errors about the gateway's are not", async () => {
    const error = { message: "Unknown parameter: 'x'.", type: "invalid_request_error", param: "x", code: null };
    scene.at("ovhcloud").next({ status: 400, json: { error } });
    const refused = await ask({ ...PLAIN, x: 1 });
    expect([refused.status, refused.body.error.code]).toEqual([400, "provider_error"]);
    expect(refused.body.error.message).toBe("Unknown parameter: 'x'.");
    for (const provider of ["ovhcloud", "scaleway"] as const)
      scene.at(provider).next({ status: 401, json: { error: { message: "Incorrect key" } } });
    const hidden = await ask({ ...PLAIN, x: 1 });
    expect([hidden.status, hidden.body.error.code]).toEqual([502, "upstream_error"]);
    expect(hidden.text).not.toContain("Incorrect");
  });
});

describe("a response, streamed", () => {
  const WORDS = ["Hello", " there", ", you"];

  test("RESP-01 HDR-01 every event is forwarded, with the gateway's id and the cost at the end", async () => {
    const thought = { type: "response.output_item.done", sequence_number: 3, item: thoughtItem("gAAA") };
    const frames = responseFrames(WORDS);
    scene.at("ovhcloud").next({ frames: [...frames.slice(0, 3), frameOf(thought), ...frames.slice(3)] });
    const { text, headers } = await ask({ ...PLAIN, stream: true });
    expect(headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(headers.get("x-svc-upstream-surface")).toBe("responses");
    const id = String(headers.get("x-svc-request-id"));
    const cost = await expectBooked(id);
    const expected = responseEvents(WORDS).map((event) =>
      event.response === undefined ? event : { ...event, response: { ...event.response, id } },
    );
    expected.splice(3, 0, { ...thought, item: thoughtItem("gw1:responses.ovhcloud:gAAA") });
    const end = expected.at(-1);
    end.response.usage = { ...RESPONSE_USAGE, cost, currency: "EUR" };
    expect(eventsIn(text)).toEqual(expected);
    for (const frame of frames.filter((one) => one.includes(".delta"))) expect(text).toContain(frame);
    expect(text).not.toContain("[DONE]");
  });

  test("RESP-01 a reply that reached its limit ends as incomplete and is billed", async () => {
    const events = responseEvents(WORDS);
    const end = events.at(-1);
    end.type = "response.incomplete";
    end.response = { ...end.response, status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
    scene.at("ovhcloud").next({ frames: events.map(frameOf) });
    const { text, headers } = await ask({ ...PLAIN, stream: true });
    const answer = eventsIn(text).at(-1);
    expect([answer.type, answer.response.status]).toEqual(["response.incomplete", "incomplete"]);
    expect(answer.response.usage.cost).toBe(await expectBooked(String(headers.get("x-svc-request-id"))));
  });

  test.each<[string, Json[]]>([
    ["an error event", [{ type: "error", sequence_number: 6, error: { code: "server_error", message: "secret" } }]],
    ["a failed response", [{ type: "response.failed", response: { error: { code: "x", message: "secret" } } }]],
    ["nothing at all", []],
    ["an end marker without a final event", [{ type: "response.completed" }]],
  ])("ERR-02 BILL-02 a stream that breaks with %s ends with one error event and is free", async (_, broken) => {
    const frames = responseFrames(WORDS).slice(0, 6);
    scene.at("ovhcloud").next({ frames: [...frames, ...broken.map(frameOf)] });
    const { status, text, headers } = await ask({ ...PLAIN, stream: true });
    expect(status).toBe(200);
    const events = eventsIn(text);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
    const [error, failed] = events.slice(-2);
    const id = headers.get("x-svc-request-id");
    expect(error).toMatchObject({ type: "error", code: "upstream_error", error: { request_id: id } });
    expect(failed).toMatchObject({ type: "response.failed", response: { id, status: "failed" } });
    expect(events.filter(({ type }) => type === "error" || type === "response.failed")).toHaveLength(2);
    expect(text).not.toContain("secret");
    expect(await scene.charges(tenant)).toEqual([]);
    expect(await scene.row(String(id))).toMatchObject({ status: 200, error_code: "upstream_error", cost: "0.00" });
  });

  test("CHAT-09 BILL-02 a disconnect cancels the provider's call, and the caller pays for the content so far", async () => {
    const frames = responseFrames(WORDS).slice(0, 7);
    const after = Buffer.byteLength(frames.join(""));
    scene.at("ovhcloud").next({ frames, end: { is: "stall", after } });
    const reached = scene.at("ovhcloud").arrived(scene.at("ovhcloud").requests.length + 1);
    const disconnect = new AbortController();
    const answer = await fetch(`${scene.gateway.url}/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
      body: JSON.stringify({ ...PLAIN, stream: true }),
      signal: disconnect.signal,
    });
    const reader = answer.body?.getReader();
    let seen = "";
    while (!seen.includes(", you")) seen += Buffer.from((await reader?.read())?.value ?? []).toString();
    disconnect.abort();
    expect(await (await reached).over).toBe("aborted");
    const [row] = await scene.rowsOnce(tenant, 1);
    const output = Math.ceil(WORDS.join("").length / 4);
    expect(row).toMatchObject({ status: 499, provider: "ovhcloud", usage: { output_tokens: output, estimated: true } });
    const nanos = costNanos("ovhcloud", { input: row.usage.input_tokens, output });
    expect((await scene.charges(tenant)).map((charge) => charge.nanos)).toEqual([nanos]);
  });
});

describe("a provider that fails before any output", () => {
  const overloaded = { status: 503, json: { error: { message: "busy" } } };
  const partialFrames = responseEvents(["x"]).slice(0, 2);
  const failing = { type: "error", sequence_number: 2, error: { code: "server_error", message: "no" } };

  test("ROUTE-04 RESP-05 the next provider of the dialect is called with its own reasoning", async () => {
    const thought = (provider: string) => ({
      type: "reasoning",
      summary: [],
      encrypted_content: `gw1:responses.${provider}:from-${provider}`,
    });
    const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "x" }] };
    const input = [thought("ovhcloud"), message, thought("scaleway"), message, { role: "user", content: "go on" }];
    scene.at("ovhcloud").next(overloaded);
    scene.at("scaleway").next({ json: responseJson({ output: [thoughtItem("new")] }) });
    const { body, headers } = await ask({ ...PLAIN, input });
    expect(headers.get("x-svc-provider")).toBe("scaleway");
    const sealed = (json: unknown) =>
      [...JSON.stringify(json).matchAll(/"encrypted_content":"([^"]*)"/g)].map((m) => m[1]);
    expect(sealed(last("ovhcloud")?.json)).toEqual(["from-ovhcloud"]);
    expect(sealed(last("scaleway")?.json)).toEqual(["from-scaleway"]);
    expect(sealed(body)).toEqual(["gw1:responses.scaleway:new"]);
    const { attempts, omitted } = await scene.row(body.id);
    expect(attempts.map(({ outcome }: Json) => outcome)).toEqual(["next", "served"]);
    expect(omitted).toEqual(["input[]"]);
  });

  test("ROUTE-04 RESP-02 a stream that has only started fails over to a translated endpoint", async () => {
    scene.at("ovhcloud").next({ frames: [...partialFrames, failing].map(frameOf) });
    scene.at("scaleway").next(overloaded);
    scene.at("ionos").next({ frames: chatFrames(["Trans", "lated"], { usage: "asked" }) });
    const { text, headers } = await ask({ ...PLAIN, stream: true });
    expect(headers.get("x-svc-provider")).toBe("ionos");
    expect(headers.get("x-svc-upstream-surface")).toBe("chat");
    const events = eventsIn(text);
    expect(events.filter(({ type }) => type === "response.created")).toHaveLength(1);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
    const { response } = events.at(-1);
    expect(response.id).toBe(headers.get("x-svc-request-id"));
    expect(response.output.at(-1).content[0].text).toBe("Translated");
    expect(await scene.charges(tenant)).toHaveLength(1);
  });

  test.each([
    ["a refused prompt", { code: "invalid_prompt" }],
    ["a prompt that is too long", { code: "context_length_exceeded" }],
    ["a prompt classified as an attack", { code: "cyber_policy" }],
    ["a refused field", { code: null, type: "invalid_request_error" }],
  ])("ERR-06 a refusal inside the stream is not retried elsewhere: %s", async (_, failure) => {
    const refusal = { type: "error", sequence_number: 2, error: { ...failure, message: "Your prompt was flagged." } };
    scene.at("ovhcloud").next({ frames: [...partialFrames, refusal].map(frameOf) });
    const callsBefore = scene.at("scaleway").requests.length;
    const { status, body } = await ask({ ...PLAIN, stream: true });
    expect([status, body.error.code, body.error.message]).toEqual([400, "provider_error", "Your prompt was flagged."]);
    expect(scene.at("scaleway").requests).toHaveLength(callsBefore);
  });

  test("ERR-07 an overload reported inside the stream is reported as such", async () => {
    const full = { ...failing, error: { code: "server_is_overloaded", message: "Full." } };
    for (const provider of ["ovhcloud", "scaleway"] as const)
      scene.at(provider).next({ frames: [...partialFrames, full].map(frameOf) });
    scene.at("ionos").next({ status: 500, json: {} });
    const { body } = await ask({ ...PLAIN, stream: true });
    const { attempts } = await scene.row(body.error.request_id);
    expect(attempts[0].reason).toBe("provider failed (503)");
  });
});

test.each([
  ["only keep-alives", ": waiting\n\n", []],
  ["its own keep-alive", frameOf({ type: "keepalive" }), ["keepalive"]],
])(
  "ERR-02 CHAT-10 a provider that breaks off after %s: the response begins before it fails",
  async (_, sign, before) => {
    const quick = await openScene(["ovhcloud"], { GATEWAY_KEEP_ALIVE_MS: "20" });
    try {
      const { key } = await quick.gateway.tenant();
      const held = gate();
      quick.at("ovhcloud").next({ frames: [sign, { data: ": still\n\n", afterMs: 0, gate: held.closed }] });
      const body = { ...PLAIN, stream: true };
      const answer = await openResponse(quick.gateway.url, key, { path: "/v1/responses", body });
      await answer.until(": keep-alive\n\n");
      held.open();
      expect(await answer.over).toBe("whole");
      const events = eventsIn(answer.text);
      const types = [...before, "response.created", "response.in_progress", "error", "response.failed"];
      expect(events.map(({ type }) => type)).toEqual(types);
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(types.map((_type, at) => at));
      const id = answer.headers["x-svc-request-id"];
      const [partialFrames, failed] = [events.at(-4), events.at(-1)];
      expect(partialFrames?.response).toMatchObject({ id, status: "in_progress", error: null, output: [] });
      expect(failed?.response).toMatchObject({ id, status: "failed", error: { code: "server_error" } });
    } finally {
      await quick.close();
    }
  },
);

describe("provider tools", () => {
  const tools = [{ type: "code_interpreter", container: { type: "auto" } }];

  test("RESP-01 are routed only to providers of the dialect with a price for them", async () => {
    const call = { id: "ci_1", type: "code_interpreter_call", status: "completed", code: "1", outputs: [] };
    scene.at("ovhcloud").next({ json: responseJson({ output: [call] }) });
    const { body } = await ask({ ...PLAIN, tools });
    expect(last("ovhcloud")?.json).toMatchObject({ tools });
    expect(body.output).toEqual([call]);
    const { candidates } = (await scene.row(body.id)).decision;
    expect(candidates.find(({ provider }: Json) => provider === "ionos")).toMatchObject({ outcome: "excluded" });
    scene.at("ovhcloud").next({ json: responseJson() });
    await ask({ ...PLAIN, tools: [{ type: "web_search" }] });
    expect(last("ovhcloud")?.json).toMatchObject({ tools: [{ type: "web_search" }] });
  });
});

describe("a model whose cheapest endpoint speaks another dialect", () => {
  let mixed: Scene;
  beforeAll(async () => {
    mixed = await openScene(["deepinfra", "ovhcloud"]);
  });
  afterAll(() => mixed.close());

  test("ROUTE-04 RESP-01 RESP-02 the translated request fails, and the same request is passed through elsewhere", async () => {
    const { key } = await mixed.gateway.tenant();
    mixed.at("deepinfra").next({ status: 500, json: { error: { message: "no" } } });
    mixed.at("ovhcloud").next({ frames: responseFrames(["Hi"]) });
    const { text, headers } = await mixed.gateway.call(key, "/v1/responses", { body: { ...PLAIN, stream: true } });
    expect(mixed.at("deepinfra").requests.at(-1)?.path).toBe("/v1/chat/completions");
    expect(mixed.at("ovhcloud").requests.at(-1)?.json).toEqual({ ...PLAIN, model: "gpt-oss-120b", stream: true });
    expect(headers.get("x-svc-upstream-surface")).toBe("responses");
    expect(eventsIn(text).at(-1).response.id).toBe(headers.get("x-svc-request-id"));
  });

  test("PARAM-04 a tool of the dialect only is refused by name if no provider of the dialect serves the model", async () => {
    const alone = await openScene(["deepinfra"]);
    try {
      const { key } = await alone.gateway.tenant();
      const tools = [{ type: "file_search", vector_store_ids: ["vs_1"] }];
      const { status, body } = await alone.gateway.call(key, "/v1/responses", { body: { ...PLAIN, tools } });
      expect([status, body.error.code, body.error.param]).toEqual([400, "unsupported_parameter", "tools.0.type"]);
      expect(alone.at("deepinfra").requests).toEqual([]);
    } finally {
      await alone.close();
    }
  });
});
