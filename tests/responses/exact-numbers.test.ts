import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tenant } from "../support/gateway.ts";
import { type Caller, callerWith, WAYS, type Way } from "../support/response-callers.ts";
import { responseFrames, responseJson } from "../support/responses-native.ts";
import { MODEL, openScene, type Scene } from "../support/scene.ts";
import { openResponse } from "../support/streaming-response.ts";
import { chatFrames, chatJson, type ReplySource } from "../support/upstream.ts";

const ID = "9007199254740993";
const EXACT = JSON.rawJSON(ID);
const TOOLS = [{ type: "function", name: "f", parameters: { type: "object", properties: { id: { enum: [EXACT] } } } }];
const TEXT = {
  format: { type: "json_schema", name: "a", schema: { type: "object", properties: { id: { const: EXACT } } } },
};
const REQUEST = { model: MODEL, input: "Hi", tools: TOOLS, text: TEXT };

/** A provider of the dialect repeats its request, as the gateway does for the others. */
const replyFor = (way: Way): ReplySource => {
  const streamed =
    way === "native" ? responseFrames(["{}"], { tools: TOOLS, text: TEXT }) : chatFrames(["{}"], { usage: "asked" });
  const whole = way === "native" ? responseJson({ tools: TOOLS, text: TEXT }) : chatJson({ content: "{}" });
  return ({ raw }) => (raw.includes('"stream":true') ? { frames: streamed } : { json: whole });
};

describe.each(["translated", "native"] as const)("%s: schemas repeated in a response", (way) => {
  let scene: Scene;
  let tenant: Tenant;
  let caller: Caller;
  beforeAll(async () => {
    scene = await openScene([WAYS[way]]);
    tenant = await scene.gateway.tenant();
    caller = callerWith(scene.gateway, tenant.key);
    scene.at(WAYS[way]).always(replyFor(way));
  });
  afterAll(() => scene.close());

  /** In the tools and in the format. */
  const expectExact = (text: string) => {
    expect(text).toContain(`"enum":[${ID}]`);
    expect(text).toContain(`"const":${ID}`);
  };
  const kept = async (id: string) => (await caller.get(id)).text;

  test("RESP-01 RESP-02 RESP-03 keep all digits of their numbers, in the response and in the store", async () => {
    const made = await caller.post(REQUEST);
    expect(made.status, made.text).toBe(200);
    expectExact(made.text);
    expectExact(await kept(made.body.id));
  });

  test("RESP-04 keep all digits in the background, from queued to completed", async () => {
    const made = await caller.post({ ...REQUEST, background: true });
    expectExact(made.text);
    await caller.once(made.body.id, "completed");
    expectExact(await kept(made.body.id));
  });

  test("RESP-04 keep all digits in every event that repeats them, also when read again", async () => {
    const call = { path: "/v1/responses", body: { ...REQUEST, background: true, stream: true } };
    const stream = await openResponse(scene.gateway.url, tenant.key, call);
    expect(await stream.over).toBe("whole");
    const id = /"id":"(resp_\w+)"/.exec(stream.text)?.[1] ?? "";
    for (const text of [stream.text, await (await caller.get(id, "?stream=true")).text]) {
      const repeating = text.split("\n\n").filter((event) => event.includes('"parameters"'));
      expect(repeating.length).toBeGreaterThanOrEqual(4);
      for (const event of repeating) expectExact(event);
    }
  });
});
