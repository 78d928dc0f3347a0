import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { filesWith } from "../edge/child.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { type Caller, callerWith, replyingWith, WAYS, type Way } from "../support/response-callers.ts";
import { eventsIn } from "../support/responses-native.ts";
import { openScene, type Scene } from "../support/scene.ts";

describe.each(["translated", "native"] as const)("%s", (way: Way) => {
  let scene: Scene;
  let tenant: Tenant;
  let caller: Caller;
  beforeAll(async () => {
    scene = await openScene([WAYS[way]]);
  });
  afterAll(() => scene.close());
  beforeEach(async () => {
    tenant = await scene.gateway.tenant();
    caller = callerWith(scene.gateway, tenant.key);
    scene.at(WAYS[way]).always(replyingWith(way, ["Hello", " there"]));
  });

  /** The conversation that the provider received, in its own dialect. */
  const sent = (): Json[] => {
    const json: Json = scene.at(WAYS[way]).requests.at(-1)?.json;
    return way === "native" ? json.input : json.messages;
  };
  const textsIn = (items: readonly Json[]): string[] =>
    items.map(({ content }) =>
      typeof content === "string" ? content : content.map(({ text }: Json) => text).join(""),
    );

  test("RESP-03 a response is stored by default and returned unchanged; the provider stores nothing", async () => {
    const made = await caller.post();
    expect(made.status, made.text).toBe(200);
    expect(made.body).toMatchObject({ status: "completed", store: true, background: false });
    const found = await caller.get(made.body.id);
    expect([found.status, found.body]).toEqual([200, made.body]);
    const json: Json = scene.at(WAYS[way]).requests.at(-1)?.json;
    expect(json.store ?? false).toBe(false);
    expect(found.headers.get("x-ratelimit-remaining")).not.toBeNull();
    // No cache on the way may keep it for other clients.
    expect(found.headers.get("cache-control")).toBe("no-store");
  });

  test("RESP-03 a streamed response is stored before its last event is sent", async () => {
    const made = await caller.post({ stream: true });
    const events = eventsIn(made.text);
    const last = events.at(-1);
    expect(last).toMatchObject({ type: "response.completed" });
    expect((await caller.get(last.response.id)).body).toEqual(last.response);
  });

  test("RESP-03 store: false leaves nothing behind", async () => {
    const made = await caller.post({ store: false });
    expect(made.body.store).toBe(false);
    expect((await caller.get(made.body.id)).status).toBe(404);
    const again = await caller.post({ previous_response_id: made.body.id });
    expect([again.status, again.body.error.code]).toEqual([400, "previous_response_not_found"]);
  });

  test("RESP-02 a conversation continues from a stored response: inputs and outputs in order, without instructions", async () => {
    const first = await caller.post({ input: "My name is Ada.", instructions: "Be brief." });
    const second = await caller.post({ input: "What is it?", previous_response_id: first.body.id });
    expect(second.body.previous_response_id).toBe(first.body.id);
    expect(textsIn(sent())).toEqual(["My name is Ada.", "Hello there", "What is it?"]);
    await caller.post({ input: "Sure?", previous_response_id: second.body.id, store: false });
    const all = ["My name is Ada.", "Hello there", "What is it?", "Hello there", "Sure?"];
    expect(textsIn(sent())).toEqual(all);
    expect(JSON.stringify(scene.at(WAYS[way]).requests.at(-1)?.json)).not.toContain(first.body.id);
  });

  test("RESP-02 items of earlier responses can be referenced", async () => {
    const first = await caller.post({ input: "My name is Ada." });
    const [item] = first.body.output;
    const [question] = (await caller.inputItems(first.body.id)).body.data;
    const input = [
      { type: "item_reference", id: question.id },
      { type: "item_reference", id: item.id },
      { role: "user", content: "What is it?" },
    ];
    const second = await caller.post({ input });
    expect(second.status, second.text).toBe(200);
    expect(textsIn(sent())).toEqual(["My name is Ada.", "Hello there", "What is it?"]);
    // The conversation continues from there.
    expect((await caller.post({ previous_response_id: second.body.id, input: "Sure?" })).status).toBe(200);
    expect(textsIn(sent())).toHaveLength(5);
    const unknown = await caller.post({ input: [{ type: "item_reference", id: "msg_none" }] });
    expect([unknown.status, unknown.body.error.param]).toEqual([400, "input.0.id"]);
  });

  test("RESP-03 a deleted response and its descendants cannot be continued", async () => {
    const first = await caller.post();
    const second = await caller.post({ previous_response_id: first.body.id });
    const deleted = await caller.remove(first.body.id);
    expect([deleted.status, deleted.body]).toEqual([200, { id: first.body.id, object: "response", deleted: true }]);
    expect((await caller.remove(first.body.id)).status).toBe(404);
    expect((await caller.get(first.body.id)).status).toBe(404);
    expect((await caller.get(second.body.id)).status).toBe(200);
    for (const id of [first.body.id, second.body.id, "resp_none"]) {
      const refused = await caller.post({ previous_response_id: id });
      expect([refused.status, refused.body.error.code]).toEqual([400, "previous_response_not_found"]);
      expect(refused.body.error.param).toBe("previous_response_id");
    }
  });

  test("RESP-03 input items: newest first, in pages, each with an id, including earlier turns", async () => {
    const first = await caller.post({
      input: [
        { role: "user", content: "one" },
        { role: "user", content: "two" },
      ],
    });
    const { data } = (await caller.inputItems(first.body.id, "?order=asc")).body;
    expect(textsIn(data)).toEqual(["one", "two"]);
    expect(data.map(({ type, role }: Json) => [type, role])).toEqual([
      ["message", "user"],
      ["message", "user"],
    ]);
    const words = [
      { role: "assistant", content: "well" },
      { role: "user", content: "so" },
    ];
    const plain = (await caller.inputItems((await caller.post({ input: words })).body.id, "?order=asc")).body;
    expect(plain.data.map(({ content }: Json) => content)).toEqual([
      [{ type: "output_text", text: "well" }],
      [{ type: "input_text", text: "so" }],
    ]);
    const second = await caller.post({ input: "three", previous_response_id: first.body.id });
    const id: string = second.body.id;
    const whole = (await caller.inputItems(id)).body;
    expect(textsIn(whole.data)).toEqual(["three", "Hello there", "two", "one"]);
    expect(whole).toMatchObject({ object: "list", has_more: false });
    expect([whole.first_id, whole.last_id]).toEqual([whole.data[0].id, whole.data[3].id]);
    expect(new Set(whole.data.map((item: Json) => item.id)).size).toBe(4);
    const page = (await caller.inputItems(id, "?limit=2")).body;
    expect([textsIn(page.data), page.has_more]).toEqual([["three", "Hello there"], true]);
    const next = (await caller.inputItems(id, `?limit=2&after=${page.last_id}`)).body;
    expect([textsIn(next.data), next.has_more]).toEqual([["two", "one"], false]);
    const before = (await caller.inputItems(id, `?before=${next.first_id}&include[]=a&include[]=b`)).body;
    expect(textsIn(before.data)).toEqual(["three", "Hello there"]);
    for (const [query, param] of [
      ["?limit=0", "limit"],
      ["?limit=101", "limit"],
      ["?after=none", "after"],
      ["?order=up", "order"],
    ]) {
      const refused = await caller.inputItems(id, query);
      expect([refused.status, refused.body.error.param], query).toEqual([400, param]);
    }
  });

  test("RESP-03 input items with the same id are listed once each, under separate ids that can be referenced", async () => {
    const item = (id: string, text: string) => ({ type: "message", id, role: "user", content: text });
    const first = await caller.post({ input: [item("msg_a", "one"), item("msg_b", "two"), item("msg_a", "three")] });
    const [message] = first.body.output;
    const second = await caller.post({
      previous_response_id: first.body.id,
      input: [item("msg_b", "four"), { type: "item_reference", id: message.id }, item("msg_c", "five")],
    });
    const paged: Json[] = [];
    for (let after = ""; paged.length < 20; after = `&after=${paged.at(-1).id}`) {
      const page = (await caller.inputItems(second.body.id, `?order=asc&limit=1${after}`)).body;
      paged.push(...page.data);
      if (!page.has_more) break;
    }
    expect(textsIn(paged)).toEqual(["one", "two", "three", "Hello there", "four", "Hello there", "five"]);
    expect(new Set(paged.map(({ id }) => id)).size).toBe(paged.length);
    const reference = (id: string) => ({ type: "item_reference", id });
    const third = await caller.post({ input: [reference(paged[2].id), reference(paged[4].id)] });
    expect(third.status, third.text).toBe(200);
    expect(textsIn(sent())).toEqual(["three", "four"]);
  });

  test("RESP-03 only background responses can be cancelled or followed", async () => {
    const made = await caller.post();
    const cancelled = await caller.cancel(made.body.id);
    expect([cancelled.status, cancelled.body.error.code]).toEqual([400, "invalid_value"]);
    const followed = await caller.get(made.body.id, "?stream=true");
    expect([followed.status, followed.body.error.param]).toEqual([400, "stream"]);
    expect((await caller.get(made.body.id, "?stream=false&include[]=x&include[]=y")).status).toBe(200);
  });

  test("RESP-03 the operations are free and count in the key's rate limit", async () => {
    const made = await caller.post();
    const { body: limits } = { body: Number((await caller.get(made.body.id)).headers.get("x-ratelimit-remaining")) };
    await caller.inputItems(made.body.id);
    const last = await caller.remove(made.body.id);
    expect(Number(last.headers.get("x-ratelimit-remaining"))).toBe(limits - 2);
    expect(await scene.rows(tenant)).toHaveLength(1);
    expect(await scene.charges(tenant)).toHaveLength(1);
  });

  test("RESP-05 the data directory has no plain text of a stored conversation", async () => {
    const words = ["canary-of-the-answer-", way];
    scene.at(WAYS[way]).always(replyingWith("translated", words));
    if (way === "native") scene.at(WAYS[way]).always(replyingWith("native", words));
    const made = await caller.post({ input: "canary-of-the-question", stream: true });
    const { id } = eventsIn(made.text).at(-1).response;
    expect((await caller.get(id)).text).toContain("canary-of-the-answer-");
    expect((await caller.inputItems(id)).text).toContain("canary-of-the-question");
    expect(filesWith(scene.gateway.dataDir, ["canary-of-the-question", "canary-of-the-answer"])).toEqual([]);
  });
});
