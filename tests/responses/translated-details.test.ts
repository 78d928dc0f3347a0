import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "../../src/kit/json.ts";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { messageJson, messageStream } from "../support/messages.ts";
import { expectByDocument } from "../support/openai-document.ts";
import { foldResponse, responseEvents, withId } from "../support/responses-fold.ts";
import { openScene, type Scene } from "../support/scene.ts";

let scene: Scene;
let tenant: Tenant;
const { model } = DIALECT_SCRIPTS.D2;
beforeAll(async () => {
  scene = await openScene(["anthropic"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());
const ask = (more: JsonObject): Promise<Called> =>
  scene.gateway.call(tenant.key, "/v1/responses", { body: { model, input: "Hello", store: false, ...more } });

test("RESP-02 a refusal and a citation, whole and in a stream", async () => {
  const location = { type: "web_search_result_location", url: "https://a.example/", title: "A", cited_text: "c" };
  const answers = [
    messageJson([], { stop_reason: "refusal", stop_details: { type: "refusal", explanation: "Not that." } }),
    messageJson([{ type: "text", text: "cited", citations: [{ ...location, encrypted_index: "x" }] }]),
  ];
  for (const answer of answers) {
    scene.at("anthropic").next({ json: answer });
    const { body } = await ask({});
    expectByDocument(body);
    scene.at("anthropic").next({ body: messageStream(answer, 4), headers: { "content-type": "text/event-stream" } });
    const events = responseEvents((await ask({ stream: true })).text);
    for (const event of events) expectByDocument(event);
    expect(withId(foldResponse(events), body.id)).toEqual(withId(body, body.id));
  }
});

test("RESP-02 encrypted reasoning is returned only if requested", async () => {
  for (const [more, has] of [
    [{}, false],
    [{ include: ["reasoning.encrypted_content"] }, true],
  ] as const) {
    scene.at("anthropic").next(DIALECT_SCRIPTS.D2.whole({ thoughts: "t", text: "x" }));
    expect("encrypted_content" in (await ask(more)).body.output[0]).toBe(has);
    scene.at("anthropic").next(DIALECT_SCRIPTS.D2.streamed({ thoughts: "t", text: "x" }));
    expect((await ask({ ...more, stream: true })).text.includes("gw1:anthropic:sig+/=")).toBe(has);
  }
});

test("RESP-02 disabled parallel calls are sent to Claude in the tool choice", async () => {
  const tools = [{ type: "function", name: "f", parameters: { type: "object", properties: {} } }];
  const choiceFor = async (more: JsonObject) => {
    scene.at("anthropic").next(DIALECT_SCRIPTS.D2.whole({ text: "x" }));
    expect((await ask({ tools, ...more })).status).toBe(200);
    const sent: Json = scene.at("anthropic").requests.at(-1)?.json;
    return sent.tool_choice;
  };
  const serial = { parallel_tool_calls: false };
  const disable_parallel_tool_use = true;
  expect(await choiceFor(serial)).toEqual({ type: "auto", disable_parallel_tool_use });
  const named = { type: "function", name: "f" };
  for (const [tool_choice, expected] of [
    ["auto", { type: "auto", disable_parallel_tool_use }],
    ["required", { type: "any", disable_parallel_tool_use }],
    [named, { type: "tool", name: "f", disable_parallel_tool_use }],
    ["none", { type: "none" }],
  ] as const)
    expect(await choiceFor({ ...serial, tool_choice })).toEqual(expected);
  expect(await choiceFor({ parallel_tool_calls: true })).toBeUndefined();
});

test("RESP-02 a broken stream ends with an error and the failed response, and is not charged", async () => {
  const [frame] = [messageStream(messageJson([{ type: "text", text: "Hello there" }]), 4).toString()];
  const cut = frame.slice(0, frame.indexOf("content_block_stop"));
  scene.at("anthropic").next({ body: cut, headers: { "content-type": "text/event-stream" } });
  const { status, text, headers } = await ask({ stream: true });
  expect(status).toBe(200);
  const events = responseEvents(text);
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
  expect(events.slice(-2).map(({ type }) => type)).toEqual(["error", "response.failed"]);
  expect(events.at(-2).error).toMatchObject({ code: "upstream_error", request_id: headers.get("x-svc-request-id") });
  for (const event of events) expectByDocument(event);
  const row = await scene.row(headers.get("x-svc-request-id") ?? "");
  expect(row.error_code).toBe("upstream_error");
  expect(await scene.charges(tenant)).not.toContainEqual(expect.objectContaining({ id: row.id }));
});

test("RESP-02 a custom tool's free text is sent as a function argument and returned unchanged", async () => {
  const tools = [{ type: "custom", name: "patch", description: "Patches files." }];
  const calls = [{ id: "call_1", name: "patch", input: { input: "*** Begin\n" } }];
  scene.at("anthropic").next(DIALECT_SCRIPTS.D2.streamed({ calls }));
  const { output } = foldResponse(responseEvents((await ask({ tools, stream: true })).text));
  expect(output).toMatchObject([{ type: "custom_tool_call", call_id: "call_1", name: "patch", input: "*** Begin\n" }]);
  scene.at("anthropic").next(DIALECT_SCRIPTS.D2.whole({ text: "Done." }));
  const result = { type: "custom_tool_call_output", call_id: "call_1", output: "patched" };
  await ask({ tools, input: [{ role: "user", content: "Fix." }, ...output, result] });
  const sent: Json = scene.at("anthropic").requests.at(-1)?.json;
  expect(sent.messages[1].content).toMatchObject([
    { type: "tool_use", name: "patch", input: { input: "*** Begin\n" } },
  ]);
  expect(JSON.stringify(sent.messages[2].content)).toContain("patched");
});

test("RESP-06 auto and a workspace's router work here, whole and in a stream, and a missing router is named", async () => {
  const own = `@${tenant.slug}/mine`;
  await scene.gateway.manage("PUT", `/workspaces/${tenant.slug}/routers/mine`, { models: [model] });
  for (const [router, chooses] of [
    ["auto", "anthropic/"],
    [own, model],
  ] as const) {
    scene.at("anthropic").next(DIALECT_SCRIPTS.D2.whole({ text: "Hello." }));
    const chosen = await ask({ model: router });
    scene.at("anthropic").next(DIALECT_SCRIPTS.D2.streamed({ text: "Hello." }));
    const streamed = await ask({ model: router, stream: true });
    for (const [{ headers }, body] of [
      [chosen, chosen.body],
      [streamed, foldResponse(responseEvents(streamed.text))],
    ] as const) {
      expect([headers.get("x-svc-router"), headers.get("x-svc-model")]).toEqual([
        router,
        expect.stringContaining(chooses),
      ]);
      expect(body).toMatchObject({ model: headers.get("x-svc-model"), output: [{ content: [{ text: "Hello." }] }] });
    }
  }
  const missing = await ask({ model: "@missing/router" });
  expect([missing.status, missing.body.error.code]).toEqual([404, "router_not_found"]);
});

test("PARAM-04 a model that takes no sampling is called without it, and the log records it", async () => {
  scene.at("anthropic").next(DIALECT_SCRIPTS.D2.whole({ text: "Hello." }));
  const { status, headers, text } = await ask({ model: "anthropic/claude-opus-4-8", temperature: 0.2, top_p: 0.9 });
  expect(status, text).toBe(200);
  const sent: Json = scene.at("anthropic").requests.at(-1)?.json;
  expect([sent.temperature, sent.top_p]).toEqual([undefined, undefined]);
  const { omitted } = await scene.row(headers.get("x-svc-request-id") ?? "");
  expect([omitted, headers.get("x-svc-omitted")]).toEqual([["temperature", "top_p"], "temperature,top_p"]);
});
