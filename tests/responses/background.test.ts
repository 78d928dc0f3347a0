import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { type Caller, callerWith, framesOf, gate, replyingWith, WAYS, type Way } from "../support/response-callers.ts";
import { eventsIn } from "../support/responses-native.ts";
import { MODEL, openScene, type Scene } from "../support/scene.ts";
import { openResponse } from "../support/streaming-response.ts";
import type { Script } from "../support/upstream.ts";

describe.each(["translated", "native"] as const)("%s", (way: Way) => {
  let scene: Scene;
  let tenant: Tenant;
  let caller: Caller;
  const upstream = () => scene.at(WAYS[way]);
  beforeAll(async () => {
    scene = await openScene([WAYS[way]], { GATEWAY_BACKGROUND_WORKSPACE_MAX: "2", GATEWAY_BACKGROUND_MAX: "3" });
  });
  afterAll(() => scene.close());
  beforeEach(async () => {
    tenant = await scene.gateway.tenant();
    caller = callerWith(scene.gateway, tenant.key);
    upstream().always(replyingWith(way, ["Hello", " there"]));
  });

  const follow = (body: Record<string, unknown>) =>
    openResponse(scene.gateway.url, tenant.key, {
      path: "/v1/responses",
      body: { model: MODEL, input: "Hi", ...body },
    });
  const followFrom = (id: string, after?: number) =>
    openResponse(scene.gateway.url, tenant.key, {
      path: `/v1/responses/${id}?stream=true${after === undefined ? "" : `&starting_after=${after}`}`,
    });
  test("RESP-04 it is queued at once, runs without its caller, completes and is billed once", async () => {
    const held = gate();
    upstream().next((received) => ({ ...answer(way, received.json), gate: held.closed }));
    const made = await caller.post({ background: true });
    expect([made.status, made.body.status], made.text).toEqual([200, "queued"]);
    expect(made.body).toMatchObject({ object: "response", background: true, store: true, output: [], usage: null });
    const { id } = made.body;
    expect(made.headers.get("x-svc-request-id")).toBe(id);
    expect(await caller.once(id, "in_progress")).toMatchObject({ status: "in_progress", output: [] });
    expect((await scene.wallet(tenant)).held).not.toBe("0.00");
    expect((await caller.post({ previous_response_id: id })).body.error.message).toContain("still in progress");
    held.open();
    const done = await caller.once(id, "completed");
    expect(done.output.at(-1).content[0].text).toBe("Hello there");
    expect(done.created_at).toBe(made.body.created_at);
    const charges = await scene.charges(tenant);
    expect(charges.map((charge) => charge.id)).toEqual([`charge:${id}`]);
    expect(done.usage.cost).toBe(Number(charges[0]?.nanos) / 1e9);
    expect((await scene.wallet(tenant)).held).toBe("0.00");
    expect(await scene.row(id)).toMatchObject({ status: 200, error_code: null });
    expect((await caller.post({ previous_response_id: id })).status).toBe(200);
  });

  test("RESP-04 streamed: queued follows created, sequence numbers have no gap, and it can be read again from any event", async () => {
    const stream = await follow({ background: true, stream: true });
    expect(await stream.over).toBe("whole");
    const events = eventsIn(stream.text);
    expect(events.slice(0, 3).map(({ type }) => type)).toEqual([
      "response.created",
      "response.queued",
      "response.in_progress",
    ]);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
    const last = events.at(-1);
    expect(last.type).toBe("response.completed");
    expect((await caller.get(last.response.id)).body).toEqual(last.response);
    expect((await caller.get(last.response.id, "?stream=true")).headers.get("cache-control")).toBe("no-store");
    const empty = await caller.get(last.response.id, "?stream=true&starting_after=");
    expect([empty.status, empty.body.error.param]).toEqual([400, "starting_after"]);
    for (const after of [undefined, 0, 3, events.length - 2, events.length - 1, 1000]) {
      const again = await followFrom(last.response.id, after);
      expect(await again.over).toBe("whole");
      expect(eventsIn(again.text)).toEqual(events.slice(after === undefined ? 0 : after + 1));
    }
  });

  test("RESP-04 a disconnect stops nothing, and a reconnecting client gets the remaining events live", async () => {
    const held = gate();
    upstream().next(pausing(way, held.closed));
    const stream = await follow({ background: true, stream: true });
    await stream.until("Hello");
    const { id } = eventsIn(stream.text)[0].response;
    stream.hangUp();
    const first = await followFrom(id, 1);
    await first.until("Hello");
    expect(eventsIn(first.text)[0].sequence_number).toBe(2);
    const second = await followFrom(id);
    await second.until("Hello");
    expect((await caller.get(id)).body.status).toBe("in_progress");
    held.open();
    expect([await first.over, await second.over]).toEqual(["whole", "whole"]);
    const events = eventsIn(second.text);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
    expect(eventsIn(first.text)).toEqual(events.slice(2));
    expect(events.at(-1).response.output.at(-1).content[0].text).toBe("Hello there");
    expect(await scene.charges(tenant)).toHaveLength(1);
  });

  test("RESP-04 cancelled: the provider is stopped, usage is billed, and it stays cancelled", async () => {
    const held = gate();
    upstream().next(pausing(way, held.closed));
    const before = upstream().requests.length;
    const stream = await follow({ background: true, stream: true });
    await stream.until("Hello");
    const { id } = eventsIn(stream.text)[0].response;
    const cancelled = await caller.cancel(id);
    expect([cancelled.status, cancelled.body.status]).toEqual([200, "cancelled"]);
    expect(await upstream().requests[before]?.over).toBe("aborted");
    expect(await stream.over).toBe("whole");
    expect((await caller.cancel(id)).body).toEqual(cancelled.body);
    expect((await caller.get(id)).body).toEqual(cancelled.body);
    const charges = await scene.charges(tenant);
    expect(charges.map((charge) => charge.id)).toEqual([`charge:${id}`]);
    expect((await scene.wallet(tenant)).held).toBe("0.00");
    held.open();
  });

  test("RESP-04 cancelled before the provider answered: nothing is billed", async () => {
    const held = gate();
    upstream().next({ gate: held.closed });
    const arriving = upstream().arrived(upstream().requests.length + 1);
    const { id } = (await caller.post({ background: true })).body;
    const request = await arriving;
    const [one, other] = await Promise.all([caller.cancel(id), caller.cancel(id)]);
    expect([one.body.status, other.body]).toEqual(["cancelled", one.body]);
    expect(await request.over).toBe("aborted");
    expect(await scene.charges(tenant)).toEqual([]);
    expect((await scene.wallet(tenant)).held).toBe("0.00");
    const done = (await caller.post({ background: true })).body.id;
    const completed = await caller.once(done, "completed");
    expect((await caller.cancel(done)).body).toEqual(completed);
    held.open();
  });

  test("RESP-04 deleted while it runs: it stops, and nothing of it is left", async () => {
    const held = gate();
    upstream().next(pausing(way, held.closed));
    const stream = await follow({ background: true, stream: true });
    await stream.until("Hello");
    const { id } = eventsIn(stream.text)[0].response;
    expect((await caller.remove(id)).body).toEqual({ id, object: "response", deleted: true });
    expect((await caller.get(id)).status).toBe(404);
    expect((await caller.get(id, "?stream=true")).status).toBe(404);
    held.open();
  });

  test("RESP-04 ERR-02 a failing provider: an error with the request id, failed with its reason, and nothing is billed", async () => {
    upstream().next({ status: 500, json: { error: { message: "boom" } } });
    const polled = (await caller.post({ background: true })).body.id;
    const failed = await caller.once(polled, "failed");
    expect(failed.error).toMatchObject({ code: "upstream_error" });
    upstream().next({ status: 400, json: { error: { message: "no such thing", type: "invalid_request_error" } } });
    const stream = await follow({ background: true, stream: true });
    expect(await stream.over).toBe("whole");
    const events = eventsIn(stream.text);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
    const [error, last] = events.slice(-2);
    expect(last).toMatchObject({ type: "response.failed", response: { status: "failed" } });
    expect(error).toMatchObject({
      type: "error",
      code: "provider_error",
      error: { code: "provider_error", type: "upstream_error", request_id: last.response.id },
    });
    expect(last.response.error).toMatchObject({ code: "provider_error" });
    expect((await caller.get(last.response.id)).body).toEqual(last.response);
    expect(await scene.charges(tenant)).toEqual([]);
  });

  test("RESP-04 a broken stream: failed, with the events so far", async () => {
    const frames = framesOf(way, ["Hello", " there"]);
    const after = Buffer.byteLength(frames.slice(0, frames.findIndex((frame) => frame.includes("Hello")) + 1).join(""));
    upstream().next({ frames, end: { is: "cut", after } });
    const stream = await follow({ background: true, stream: true });
    expect(await stream.over).toBe("whole");
    const events = eventsIn(stream.text);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
    expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { status: "failed" } });
    expect((await caller.get(events.at(-1).response.id)).body).toMatchObject({ status: "failed" });
    expect(await scene.charges(tenant)).toEqual([]);
  });

  test("RESP-04 an invalid request is refused at once and leaves nothing", async () => {
    const bare = await scene.gateway.tenant({ credit: "0" });
    const poor = await callerWith(scene.gateway, bare.key).post({ background: true });
    expect([poor.status, poor.body.error.code]).toEqual([402, "insufficient_credits"]);
    const unknown = await caller.post({ background: true, model: "missing/model" });
    expect([unknown.status, unknown.body.error.code]).toEqual([404, "model_not_found"]);
    const unstored = await caller.post({ background: true, store: false });
    expect([unstored.status, unstored.body.error.param]).toEqual([400, "background"]);
    for (const { slug } of [bare, tenant])
      expect((await scene.gateway.manage("GET", `/workspaces/${slug}/responses`)).data).toEqual([]);
  });

  test("RESP-04 the number of concurrent runs is limited per workspace and in total, and the limit is named", async () => {
    const held = gate();
    upstream().always(() => ({ gate: held.closed }));
    const ids = [(await caller.post({ background: true })).body.id, (await caller.post({ background: true })).body.id];
    const full = await caller.post({ background: true });
    expect([full.status, full.body.error.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(full.body.error.message).toContain("GATEWAY_BACKGROUND_WORKSPACE_MAX");
    expect([full.headers.get("retry-after"), full.headers.get("x-ratelimit-limit")]).toEqual(["5", null]);
    const second = callerWith(scene.gateway, (await scene.gateway.tenant()).key);
    const third = (await second.post({ background: true })).body.id;
    expect((await second.post({ background: true })).body.error.message).toContain("GATEWAY_BACKGROUND_MAX");
    for (const id of ids) await caller.cancel(id);
    await second.cancel(third);
    held.open();
    upstream().always(replyingWith(way, ["Hello"]));
    const next = (await caller.post({ background: true })).body.id;
    await caller.once(next, "completed");
    expect((await scene.wallet(tenant)).held).toBe("0.00");
  });
});

function answer(way: Way, json: unknown) {
  const script = replyingWith(way, ["Hello", " there"]);
  if (typeof script !== "function") return script;
  const received: Json = { json };
  return script(received);
}

/** The first token, and the rest once the gate opens. */
function pausing(way: Way, closed: Promise<void>): Script {
  const frames = framesOf(way, ["Hello", " there"]);
  const cut = frames.findIndex((frame) => frame.includes("Hello")) + 1;
  return { frames: [...frames.slice(0, cut), { data: frames.slice(cut).join(""), afterMs: 0, gate: closed }] };
}

test("RESP-04 BILL-09 cancelled after the model's last token: it is completed, and log and replay agree", async () => {
  const scene = await openScene([WAYS.translated]);
  try {
    const tenant = await scene.gateway.tenant();
    const held = gate();
    const frames = framesOf("translated", ["Hello", " there"]);
    const cut = frames.findIndex((frame) => frame.includes('"usage":{'));
    const figures = { data: frames.slice(cut).join(""), afterMs: 0, gate: held.closed };
    scene.at(WAYS.translated).next({ frames: [frames.slice(0, cut).join(""), figures] });
    const body = { model: MODEL, input: "Hi", background: true, stream: true };
    const headers = { "idempotency-key": "once" };
    const stream = await openResponse(scene.gateway.url, tenant.key, { path: "/v1/responses", body, headers });
    await stream.until(" there");
    const { id } = eventsIn(stream.text)[0].response;
    const cancelling = callerWith(scene.gateway, tenant.key).cancel(id);
    // A part of the time that the gateway waits for usage.
    await sleep(200);
    held.open();
    expect((await cancelling).body.status).toBe("completed");
    expect(await scene.row(id)).toMatchObject({ status: 200, error_code: null });
    const again = await scene.gateway.call(tenant.key, "/v1/responses", { body, headers });
    expect([again.status, again.text]).toEqual([200, expect.stringContaining("This request was served and charged")]);
    expect(await scene.charges(tenant)).toHaveLength(1);
  } finally {
    await scene.close();
  }
});

test("BILL-02 RESP-04 a reply above the size limit is ended by the gateway: failed and not charged", async () => {
  const scene = await openScene([WAYS.native]);
  try {
    const tenant = await scene.gateway.tenant();
    const caller = callerWith(scene.gateway, tenant.key);
    const frames = framesOf("native", ["Hello"]);
    const at = frames.findIndex((frame) => frame.includes("response.output_text.delta"));
    const long = frames[at]?.replace("Hello", "x".repeat(1024 * 1024)) ?? "";
    frames.splice(at, 1, ...Array.from({ length: 66 }, () => long));
    scene.at(WAYS.native).next({ frames });
    const { id } = (await caller.post({ background: true })).body;
    const read = async () => (await caller.get(id)).body;
    await expect.poll(async () => (await read()).status, { timeout: 50_000, interval: 200 }).toBe("failed");
    const failed = await read();
    expect(failed.error.message).toContain("larger than this gateway stores");
    expect(await scene.charges(tenant)).toEqual([]);
    expect((await scene.wallet(tenant)).held).toBe("0.00");
    expect(await scene.row(id)).toMatchObject({ status: 200, error_code: "upstream_error", cost: "0.00" });
  } finally {
    await scene.close();
  }
});

test("RESP-04 background work has the deadline of every request", async () => {
  const scene = await openScene([WAYS.translated], { GATEWAY_REQUEST_TIMEOUT_MS: "300" });
  try {
    const tenant = await scene.gateway.tenant();
    const caller = callerWith(scene.gateway, tenant.key);
    const held = gate();
    scene.at(WAYS.translated).next({ gate: held.closed });
    const { id } = (await caller.post({ background: true })).body;
    expect((await caller.once(id, "failed")).error).toMatchObject({ code: "upstream_timeout" });
    expect(await scene.charges(tenant)).toEqual([]);
    expect((await scene.wallet(tenant)).held).toBe("0.00");
    held.open();
  } finally {
    await scene.close();
  }
});
