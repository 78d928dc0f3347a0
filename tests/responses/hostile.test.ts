import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanUp, temporaryFolder } from "../edge/child.ts";
import { openBooks } from "../support/books.ts";
import { eventually } from "../support/eventually.ts";
import { startGateway, type Tenant } from "../support/gateway.ts";
import { type Caller, callerWith, framesOf, gate, replyingWith } from "../support/response-callers.ts";
import { eventsIn, frameOf, responseFrames, responseJson } from "../support/responses-native.ts";
import { connectedTo, MODEL, openScene, type Scene } from "../support/scene.ts";
import { openResponse } from "../support/streaming-response.ts";
import { startUpstream } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
let caller: Caller;

beforeAll(async () => {
  scene = await openScene(["ovhcloud", "anthropic"]);
  scene.at("ovhcloud").always(replyingWith("native", ["Hello", " there"]));
  tenant = await scene.gateway.tenant();
  caller = callerWith(scene.gateway, tenant.key);
});
afterAll(async () => {
  await scene.close();
  await cleanUp();
});

test("BILL-02 the record stays small however much of a conversation is dropped", async () => {
  const thoughts = Array.from({ length: 5000 }, () => ({ type: "reasoning", summary: [] }));
  scene.at("ovhcloud").next({ frames: responseFrames(["Hello"]) });
  const made = await caller.post({ input: [...thoughts, { role: "user", content: "Hi" }], stream: true, store: false });
  const { id } = eventsIn(made.text)[0].response;
  expect((await scene.row(id)).omitted).toEqual(["input[]"]);
  expect((await scene.charges(tenant)).map((charge) => charge.id)).toContain(`charge:${id}`);
});

test("BILL-02 a field name of any length is shortened in refusals and records", async () => {
  const name = "f".repeat(1_000_000);
  const refused = await caller.post({ model: "anthropic/claude-opus-4-5", [name]: 1 });
  expect(refused.status).toBe(400);
  expect(refused.text.length).toBeLessThan(2000);
  const row = await scene.row(refused.headers.get("x-svc-request-id") ?? "");
  expect(JSON.stringify(row).length).toBeLessThan(100_000);
});

test("BILL-03 encrypted content is covered by the hold like any other", async () => {
  const poor = await scene.gateway.tenant({ credit: "0.01" });
  const before = [scene.at("ovhcloud").requests.length, scene.at("anthropic").requests.length];
  const output = "many words ".repeat(100_000);
  const input = [
    { type: "mcp_call", id: "mcp_1", server_label: "s", name: "n", arguments: "{}", output },
    { role: "user", content: "Hi" },
  ];
  const response = await callerWith(scene.gateway, poor.key).post({ input, max_output_tokens: 1 });
  expect([response.status, response.body.error?.code]).toEqual([402, "insufficient_credits"]);
  const content = [{ type: "search_result", source: "s", title: "t", content: [{ type: "text", text: output }] }];
  const message = await scene.gateway.call(poor.key, "/v1/messages", {
    body: { model: "anthropic/claude-opus-4-5", max_tokens: 1, messages: [{ role: "user", content }] },
  });
  expect([message.status, message.body.error?.code]).toEqual([402, "insufficient_credits"]);
  expect([scene.at("ovhcloud").requests.length, scene.at("anthropic").requests.length]).toEqual(before);
});

test("RESP-01 MSG-02 a body of very many tiny parts is refused at once, on every surface", async () => {
  const parts = Array.from({ length: 200_001 }, () => "{}").join(",");
  for (const [path, field] of [
    ["/v1/responses", "input"],
    ["/v1/messages", "messages"],
    ["/v1/chat/completions", "messages"],
  ] as const) {
    const body = `{"model":"${MODEL}","${field}":[${parts}]}`;
    const refused = await scene.gateway.call(tenant.key, path, { body });
    expect([refused.status, refused.body.error.code]).toEqual([400, "invalid_json"]);
    expect(refused.body.error.message).toContain("more than 400000 members and items");
  }
});

test("ERR-10 MSG-02 very many invalid parts give one refusal that names the first", async () => {
  const content = Array.from({ length: 150_000 }, () => ({ type: "text" }));
  const body = { model: MODEL, max_tokens: 1, messages: [{ role: "user", content }] };
  const refused = await scene.gateway.call(tenant.key, "/v1/messages", { body });
  expect([refused.status, refused.body.error.param]).toEqual([400, "messages.0.content.0.text"]);
});

test("BILL-02 MSG-01 a Claude stream with missing or impossible final usage is billed by its content", async () => {
  const words = "word ".repeat(4000);
  const started = {
    type: "message_start",
    message: { id: "m", content: [], usage: { input_tokens: 9, output_tokens: 1 } },
  };
  const content = [
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: words } },
  ];
  const stopped = (usage: object) => ({ type: "message_delta", delta: { stop_reason: "end_turn" }, ...usage });
  const owner = await scene.gateway.tenant();
  const outputs: [number, boolean][] = [];
  for (const end of [
    [],
    [stopped({})],
    [stopped({ usage: { output_tokens: -5 } })],
    [stopped({ usage: { output_tokens: 4000 } })],
  ]) {
    scene.at("anthropic").next({ frames: [started, ...content, ...end, { type: "message_stop" }].map(frameOf) });
    const body = {
      model: "anthropic/claude-opus-4-5",
      max_tokens: 8000,
      stream: true,
      messages: [{ role: "user", content: "x" }],
    };
    const made = await scene.gateway.call(owner.key, "/v1/messages", { body });
    const { usage } = await scene.row(made.headers.get("x-svc-request-id") ?? "");
    outputs.push([usage.output_tokens, usage.estimated]);
  }
  expect(outputs).toEqual([
    [5000, true],
    [5000, true],
    [5000, true],
    [4000, false],
  ]);
});

test("RESP-03 one large item referenced many times does not become a larger request", async () => {
  scene.at("ovhcloud").next({ json: responseJson() });
  const made = await caller.post({ input: "a long text ".repeat(100_000) });
  const { id: item } = (await caller.inputItems(made.body.id)).body.data[0];
  const before = scene.at("ovhcloud").requests.length;
  const referring = (count: number) => ({
    input: Array.from({ length: count }, () => ({ type: "item_reference", id: item })),
  });
  const refused = await caller.post(referring(100));
  expect([refused.status, refused.body.error.code, refused.body.error.param]).toEqual([400, "invalid_value", "input"]);
  expect(scene.at("ovhcloud").requests).toHaveLength(before);
  scene.at("ovhcloud").next({ json: responseJson() });
  const taken = await caller.post(referring(2));
  expect(taken.status).toBe(200);
  const items = (await caller.inputItems(taken.body.id)).body.data;
  // Newest first: the earlier of the two has the item's own id, and both show the intended item.
  expect(items.map((one: { id: string }) => one.id)).toEqual([expect.stringMatching(/_in1$/), item]);
  for (const one of items) expect(one.content[0].text).toContain("a long text");
});

test("RESP-05 POL-02 zero data retention that is set during a request keeps the response out of the store", async () => {
  const strict = await openScene(["scaleway"]);
  try {
    const owner = await strict.gateway.tenant();
    const own = callerWith(strict.gateway, owner.key);
    const held = gate();
    const frames = framesOf("native", ["Hello", " there"]);
    const [first = "", ...rest] = [frames.slice(0, 5).join(""), frames.slice(5).join("")];
    strict.at("scaleway").always({ frames: [first, { data: rest.join(""), afterMs: 0, gate: held.closed }] });
    const open = (background: boolean) =>
      openResponse(strict.gateway.url, owner.key, {
        path: "/v1/responses",
        body: { model: MODEL, input: "Hi", stream: true, background },
      });
    const streams = [await open(false), await open(true)];
    for (const stream of streams) await stream.until("Hello");
    await strict.gateway.manage("PATCH", `/workspaces/${owner.slug}/policy`, { zero_data_retention: true });
    held.open();
    const ids: string[] = [];
    for (const stream of streams) {
      expect(await stream.over).toBe("whole");
      const events = eventsIn(stream.text);
      // A connected client still gets the whole stream.
      expect(events.at(-1).type).toBe("response.completed");
      ids.push(events[0].response.id);
    }
    expect((await own.get(ids[0] ?? "")).status).toBe(404);
    const kept = (await own.get(ids[1] ?? "")).body;
    expect(kept).toMatchObject({ status: "failed", output: [], error: { code: "invalid_value" } });
    expect(kept.error.message).toContain("zero data retention");
    const replayed = await own.get(ids[1] ?? "", "?stream=true");
    expect(replayed.text).not.toContain(" there");
    expect(await strict.charges(owner)).toHaveLength(2);
  } finally {
    await strict.close();
  }
});

test("RESP-05 BILL-02 a background run that may no longer be stored ends without output and is charged as cancelled", async () => {
  const strict = await openScene(["scaleway"]);
  try {
    const owner = await strict.gateway.tenant();
    const own = callerWith(strict.gateway, owner.key);
    const held = gate();
    strict.at("scaleway").next({ gate: held.closed, frames: framesOf("native", ["Hello"]) });
    const { id } = (await own.post({ model: MODEL, background: true })).body;
    await own.once(id, "in_progress");
    await strict.gateway.manage("PATCH", `/workspaces/${owner.slug}/policy`, { zero_data_retention: true });
    held.open();
    const kept = await own.once(id, "failed", "completed");
    expect(kept).toMatchObject({ status: "failed", output: [], error: { code: "invalid_value" } });
    expect(kept.error.message).toContain("is charged");
    const [row] = await strict.rowsOnce(owner, 1);
    expect(row).toMatchObject({ id, status: 200, error_code: null });
    expect(await strict.charges(owner)).toHaveLength(1);
  } finally {
    await strict.close();
  }
});

test("RESP-04 BILL-07 the end of a background run waits for a temporarily unavailable store", async () => {
  const held = gate();
  scene.at("ovhcloud").next({ gate: held.closed, frames: responseFrames(["Hello", " there"]) });
  const { id } = (await caller.post({ background: true })).body;
  await caller.once(id, "in_progress");
  const db = openBooks(scene.gateway.dataDir);
  // The gateway shares this process: a synchronous wait for the file would block its write.
  db.exec("pragma busy_timeout = 0");
  const rename = (from: string, to: string) => eventually(() => db.exec(`alter table ${from} rename to ${to}`));
  await rename("stored_responses", "away");
  held.open();
  await scene.rowsOnce(tenant, (await scene.rows(tenant)).length + 1);
  await sleep(4000);
  await rename("away", "stored_responses");
  db.close();
  const done = await caller.once(id, "completed", "failed");
  expect(done.output.at(-1).content[0].text).toBe("Hello there");
});

test("RESP-05 an unreadable background run does not prevent the start", async () => {
  const upstream = await startUpstream();
  const held = gate();
  upstream.always({ gate: held.closed });
  const env = { ...connectedTo(new Map([["ionos", upstream]])), GATEWAY_SANDBOX: "off", GATEWAY_DRAIN_TIMEOUT_MS: "0" };
  const dataDir = temporaryFolder();
  const first = await startGateway({ env, dataDir });
  const { key } = await first.tenant();
  const ids: string[] = [];
  for (const count of [1, 2, 3]) {
    ids.push((await callerWith(first, key).post({ background: true })).body.id);
    await upstream.arrived(count);
  }
  await first.close();
  const db = openBooks(dataDir);
  for (const [at, column] of ["request", "response"].entries())
    db.prepare(`update stored_responses set ${column} = zeroblob(100) where id = ?`).run(ids[at] ?? "");
  db.close();
  upstream.always(replyingWith("translated", ["Hello"]));
  const again = await startGateway({ env, dataDir });
  try {
    const own = callerWith(again, key);
    await own.once(ids[2] ?? "", "completed");
    expect((await own.get(ids[0] ?? "")).body).toMatchObject({ status: "failed", error: { code: "interrupted" } });
  } finally {
    await again.close();
    held.open();
    await upstream.close();
  }
});
