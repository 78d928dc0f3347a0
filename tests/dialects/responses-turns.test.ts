import { afterAll, beforeAll, expect, test } from "vitest";
import { changedCatalogue } from "../support/changed-catalogue.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { RESPONSES_COLUMN, wordsOf } from "../support/responses-script.ts";
import { openScene, type Provider, type Scene } from "../support/scene.ts";
import { HELLO, responseWith, SPOKEN, THINKING_WITH_TOOLS } from "../support/through-responses.ts";
import { chatJson } from "../support/upstream.ts";

/** One of its providers speaks responses only, and whether its models take sampling while reasoning is unknown. */
function alone(facts: Json): void {
  facts.dialects = [];
  for (const endpoint of facts.endpoints) {
    delete endpoint.decisions_interface;
    delete endpoint.features?.sampling;
  }
}

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  const catalogue = changedCatalogue({ scaleway: alone });
  scene = await openScene(["openai", "deepinfra", "scaleway"], { GATEWAY_CATALOGUE_DIR: catalogue });
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

/** The last request of a provider, and its path. */
function sentTo(provider: Provider): { readonly path: string | undefined; readonly json: Json } {
  const last = scene.at(provider).requests.at(-1);
  return { path: last?.path, json: last?.json };
}

const noteOf = async ({ headers }: Called): Promise<string[]> =>
  (await scene.row(headers.get("x-svc-request-id") ?? "")).omitted;

/** Reasoning and calls of a model over responses, as the caller gets them and sends them back. */
async function earlier(): Promise<Json> {
  scene.at("openai").next(responseWith(...SPOKEN));
  const { body } = await scene.chat(tenant.key, THINKING_WITH_TOOLS);
  const { message } = body.choices[0];
  expect(message.reasoning_details[0].signature).toBe("openai:gAAAA+/=");
  return message;
}
const RESULTS = ["call_a", "call_b"].map((tool_call_id) => ({ role: "tool", tool_call_id, content: "sun" }));

test("CHAT-05 a chat turn after a responses turn: reasoning is dropped, everything else is kept", async () => {
  const { reasoning_content, reasoning_details, ...plain } = await earlier();
  const message = { ...plain, reasoning_content, reasoning_details };
  for (const more of [{ reasoning_effort: "none" }, { tools: undefined }]) {
    scene.at("openai").next({ json: chatJson() });
    const messages = [...HELLO, message, ...RESULTS];
    const answer = await scene.chat(tenant.key, { ...THINKING_WITH_TOOLS, messages, ...more });
    expect(answer.status, answer.text).toBe(200);
    const { path, json } = sentTo("openai");
    expect(path).toBe("/v1/chat/completions");
    expect(json.messages).toEqual([...HELLO, plain, ...RESULTS]);
    expect(await noteOf(answer)).toEqual(["messages[].reasoning_content", "messages[].reasoning_details"]);
  }
});

test("CHAT-05 signatures of one provider's responses API reach no other; unsigned reasoning does", async () => {
  const message = await earlier();
  const own = { type: "reasoning.text", text: "mine", signature: "a:b", index: 1 };
  const ask = async (reasoning_details: readonly Json[]) => {
    scene.at("deepinfra").next({ json: chatJson() });
    const messages = [...HELLO, { ...message, reasoning_details }, ...RESULTS];
    const answer = await scene.chat(tenant.key, {
      model: "alibaba/qwen3.5-397b-a17b",
      provider: { only: ["deepinfra"] },
      messages,
    });
    expect(answer.status, answer.text).toBe(200);
    return { received: sentTo("deepinfra").json.messages[1], note: await noteOf(answer) };
  };
  const sealed = { type: "reasoning.encrypted", data: "azure:gTHEIRS", format: "openai-responses-v1", index: 2 };
  const { reasoning_details, ...others } = message;
  const mixed = await ask([...reasoning_details, own, sealed]);
  expect(mixed.received).toEqual({ ...others, reasoning_details: [own] });
  expect(mixed.note).toEqual(["messages[].reasoning_details"]);
  expect((await ask([sealed])).received).toEqual(others);
  expect(await ask([own])).toEqual({ received: { ...others, reasoning_details: [own] }, note: [] });
});

test("MSG-02 an optional effort yields to a temperature if the endpoint has no other format", async () => {
  const ask = async (more: object) => {
    scene.at("scaleway").next(responseWith(wordsOf("Hello.")));
    const body = { model: RESPONSES_COLUMN.model, max_tokens: 400, messages: HELLO, ...more };
    const answer = await scene.gateway.call(tenant.key, "/v1/messages", { body });
    expect(answer.status, answer.text).toBe(200);
    return { json: sentTo("scaleway").json, note: await noteOf(answer) };
  };
  const adaptive = { thinking: { type: "adaptive" } };
  for (const [wish, omitted] of [
    [adaptive, "thinking"],
    [{ output_config: { effort: "high" } }, "output_config.effort"],
  ] as const) {
    const { json, note } = await ask({ ...wish, temperature: 0.5 });
    expect(json.temperature).toBe(0.5);
    expect(json).not.toHaveProperty("reasoning");
    expect(note).toEqual([omitted]);
  }
  expect((await ask(adaptive)).json.reasoning).toMatchObject({ effort: "medium" });
});
