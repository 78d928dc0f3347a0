import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Called, Tenant } from "../support/gateway.ts";
import { eventsOf, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, type Script, sse } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  // The idle limit is small for the one test that waits for it.
  scene = await openScene(["deepinfra", "ovhcloud"], { GATEWAY_IDLE_TIMEOUT_MS: "400" });
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

/** A stream that has sent "begun" and then breaks in the given way. */
const partialFrames = chatFrames(["begun"]).slice(0, 2);
const begunBytes = Buffer.byteLength(partialFrames.join(""));

async function brokenBy(script: Script): Promise<Called> {
  scene.at("deepinfra").next(script);
  return scene.chat(tenant.key, { stream: true, stream_options: { include_usage: true } });
}

async function expectHonestEnd(answer: Called, why: RegExp, code = "upstream_error"): Promise<void> {
  const id = answer.headers.get("x-svc-request-id");
  expect(answer.status).toBe(200);
  const events = eventsOf(answer.text);
  expect(answer.text).toContain("begun");
  expect(events).not.toContain("[DONE]");
  expect(JSON.parse(events.at(-1) ?? "")).toEqual({
    error: {
      message: expect.stringMatching(/not charged/),
      type: "upstream_error",
      code,
      request_id: id,
    },
  });
  expect(answer.text).not.toContain('"finish_reason":"stop"');
  const row = await scene.row(String(id));
  expect(row).toMatchObject({ status: 200, error_code: code, cost: "0.00", streaming: true });
  expect(row.attempts).toMatchObject([
    { provider: "deepinfra", outcome: "stop", upstream_status: 200, reason: expect.stringMatching(why) },
  ]);
  expect((await scene.charges(tenant)).map((charge) => charge.id)).not.toContain(`charge:${id}`);
  expect((await scene.wallet(tenant)).held).toBe("0.00");
}

describe("a stream that breaks after the first content", () => {
  const cutAfter = (how: "fin" | "rst") => ({ is: "cut", after: begunBytes + 6, how }) as const;
  const oversized = "x".repeat(17 * 1024 * 1024);
  const CASES: readonly (readonly [string, RegExp, Script])[] = [
    ["the connection is closed", /^broken/, { frames: [...partialFrames, "data: "], end: cutAfter("fin") }],
    ["the connection is reset", /^broken/, { frames: [...partialFrames, "data: "], end: cutAfter("rst") }],
    ["it ends in the middle of a frame", /frame/, { frames: [...partialFrames, 'data: {"id":"c","cho'] }],
    ["it ends without an end marker and without a finish reason", /end marker/, { frames: partialFrames }],
    ["the same, delimited by close", /end marker/, { frames: partialFrames, framing: "close" }],
    [
      "an error object comes",
      /502/,
      { frames: [...partialFrames, sse({ error: { message: "on fire" } }), "data: [DONE]\n\n"] },
    ],
    ["an error event comes", /529/, { frames: [...partialFrames, `event: error\n${sse({ status_code: 529 })}`] }],
    ["a frame is garbage", /frame/, { frames: [...partialFrames, sse("{not json")] }],
    ["a frame is JSON of another kind", /frame/, { frames: [...partialFrames, sse({ hello: "world" })] }],
    ["a frame is an array", /frame/, { frames: [...partialFrames, sse([1, 2])] }],
    [
      "a frame is over the size limit",
      /longer than 16777216 .*GATEWAY_ANSWER_MAX_EVENT/,
      { frames: [...partialFrames, `data: "${oversized}`, "more"] },
    ],
  ];

  test.each(CASES)(
    "ERR-02 BILL-02 %s: an error frame with the request id, no [DONE], no charge",
    async (_, why, script) => {
      const before = scene.at("ovhcloud").requests.length;
      const answer = await brokenBy(script);
      await expectHonestEnd(answer, why);
      // ROUTE-04: no failover once the client has seen content.
      expect(scene.at("ovhcloud").requests.length).toBe(before);
    },
  );

  test("ERR-07 BILL-02 silence: the error frame and the row report a timeout, and nothing is charged", async () => {
    const answer = await brokenBy({ frames: [...partialFrames, "data: "], end: { is: "stall", after: begunBytes } });
    await expectHonestEnd(answer, /^timeout/, "upstream_timeout");
  });

  test("ERR-02 the provider's error message is not shown: it may contain secrets of the operator", async () => {
    const answer = await brokenBy({
      frames: [
        ...partialFrames,
        sse({ error: { message: "key sk-canary-123456789 of org-77 is out of quota", code: 402 } }),
      ],
    });
    expect(answer.text).not.toMatch(/canary|org-77/);
    await expectHonestEnd(answer, /402/);
  });

  test("ERR-02 the connection to a provider that is silent or sends garbage is closed", async () => {
    const upstream = scene.at("deepinfra");
    upstream.next({ frames: [...partialFrames, "data: "], end: { is: "stall", after: begunBytes } });
    const count = upstream.requests.length;
    await scene.chat(tenant.key, { stream: true });
    const received = await upstream.arrived(count + 1);
    expect(await received.over).toBe("aborted");
    upstream.next({ frames: [...partialFrames, sse("garbage"), { data: sse("more"), afterMs: 60_000 }] });
    await scene.chat(tenant.key, { stream: true });
    expect(await (await upstream.arrived(count + 2)).over).toBe("aborted");
  });

  test("ERR-02 a provider that sends after its end marker is cut off, and the reply stays complete", async () => {
    const upstream = scene.at("deepinfra");
    const count = upstream.requests.length;
    upstream.next({ frames: talkingOn() });
    const { text } = await scene.chat(tenant.key, { stream: true });
    expect(eventsOf(text).at(-1)).toBe("[DONE]");
    expect(await (await upstream.arrived(count + 1)).over).toBe("aborted");
  });
});

function* talkingOn(): Generator<string> {
  yield* chatFrames(["whole"]);
  for (;;) yield sse({ choices: [], more: "x".repeat(4096) });
}

test("ROUTE-04 ERR-07 a stream without content is ended after a limit, and the next endpoint is called", async () => {
  const role = { index: 0, delta: { role: "assistant" }, finish_reason: null };
  let frames = 0;
  const endlessFrames = function* () {
    // It is finite, so that a gateway that buffers everything fails here instead of crashing.
    while (frames < 400) {
      frames += 1;
      yield sse({ id: "x", object: "chat.completion.chunk", choices: [role], padding: "p".repeat(65_536) });
    }
  };
  scene.at("deepinfra").next({ frames: endlessFrames() });
  const answer = await scene.chat(tenant.key, { stream: true });
  expect(answer.headers.get("x-svc-provider")).toBe("ovhcloud");
  expect(frames).toBeLessThan(400);
  const row = await scene.row(String(answer.headers.get("x-svc-request-id")));
  expect(row.attempts[0]).toMatchObject({
    provider: "deepinfra",
    outcome: "next",
    reason: expect.stringContaining("more than 1048576 characters before its first content"),
  });
});

describe("the request timeout", () => {
  let brief: Scene;
  beforeAll(async () => {
    brief = await openScene(["deepinfra"], { GATEWAY_REQUEST_TIMEOUT_MS: "500", GATEWAY_ASIDE_FAILURES: "1" });
  });
  afterAll(() => brief.close());

  const TIME_UP = { outcome: "stop", reason: "the request deadline passed", maybe_accepted: true };

  test("ERR-02 BILL-02 cuts a stream: reported as the gateway's timeout, free, and no circuit opens", async () => {
    const reader = await brief.gateway.tenant();
    brief.at("deepinfra").next({ frames: [...partialFrames, { data: "data: ", afterMs: 60_000 }] });
    const answer = await brief.chat(reader.key, { stream: true });
    expect(answer.text).toContain("begun");
    const { error } = JSON.parse(eventsOf(answer.text).at(-1) ?? "");
    expect(error).toMatchObject({
      code: "upstream_timeout",
      message: expect.stringMatching(/time limit.*not charged/),
    });
    expect(await (await brief.at("deepinfra").arrived(1)).over).toBe("aborted");
    const row = await brief.row(error.request_id);
    expect(row).toMatchObject({ status: 200, error_code: "upstream_timeout", cost: "0.00", attempts: [TIME_UP] });
    expect(await brief.charges(reader)).toEqual([]);
    expect(await brief.wallet(reader)).toMatchObject({ held: "0.00" });
    const { data } = await brief.gateway.manage("GET", "/endpoints?provider=deepinfra&state=in");
    expect(data).toContainEqual(expect.objectContaining({ id: row.endpoint, failed: 0 }));
  });

  test("ERR-07 BILL-02 ends a whole reply with 504, and the log has the reason", async () => {
    const reader = await brief.gateway.tenant();
    brief.at("deepinfra").next({ frames: [{ data: "", afterMs: 60_000 }] });
    const { status, body } = await brief.chat(reader.key);
    expect([status, body.error.code]).toEqual([504, "upstream_timeout"]);
    const row = await brief.row(body.error.request_id);
    expect(row).toMatchObject({ cost: "0.00", attempts: [{ ...TIME_UP, outcome: "next" }] });
  });
});

test("ROUTE-05 a retry delay in the middle of a stream is honoured too", async () => {
  const strict = await openScene(["deepinfra"], { GATEWAY_ASIDE_FAILURES: "9" });
  try {
    const reader = await strict.gateway.tenant();
    const error = { message: "Rate limit reached. Please try again in 60s.", code: 429 };
    strict.at("deepinfra").next({ frames: [...partialFrames, sse({ error })] });
    const answer = await strict.chat(reader.key, { stream: true });
    const { endpoint } = await strict.row(String(answer.headers.get("x-svc-request-id")));
    const { data } = await strict.gateway.manage("GET", "/endpoints?provider=deepinfra&state=aside");
    expect(data).toMatchObject([{ id: endpoint, failed: 1 }]);
  } finally {
    await strict.close();
  }
});
