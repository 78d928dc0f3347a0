import { afterAll, beforeAll, expect, test } from "vitest";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Tenant } from "../support/gateway.ts";
import { type Caller, callerWith } from "../support/response-callers.ts";
import { openScene, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

/** A reply that its token limit ended inside a tool call, and the conversation around it. */
let scene: Scene;
let tenant: Tenant;
let caller: Caller;
beforeAll(async () => {
  scene = await openScene(["deepinfra", "anthropic", "google-ai-studio", "aws-bedrock"]);
  tenant = await scene.gateway.tenant();
  caller = callerWith(scene.gateway, tenant.key);
});
afterAll(() => scene.close());

const CUT = '{"city":"Par';
const tools = [{ type: "function", name: "weather", parameters: { type: "object", properties: {} } }];
const PROBLEM = "the arguments of the tool call weather are not a JSON object, as in a truncated response.";
const KEPT = `${PROBLEM} Continue from the previous response, or send the conversation without the call.`;
const SENT = `${PROBLEM} Send the conversation without it.`;

test.each(["D2", "D3", "D4"] as const)(
  "RESP-02 ERR-01 continuing it on %s is refused by the name of the call, with the remedy",
  async (column) => {
    const { model, provider: other, whole } = DIALECT_SCRIPTS[column];
    const provider = { only: ["deepinfra"] };
    const first = await caller.post({ provider });
    const call = { id: "call_1", type: "function", function: { name: "weather", arguments: CUT } };
    const message = { role: "assistant", content: null, tool_calls: [call] };
    scene.at("deepinfra").next({ json: chatJson({ message, finish_reason: "length" }) });
    const cut = await caller.post({ provider, tools, previous_response_id: first.body.id });
    expect(cut.body).toMatchObject({ status: "incomplete", output: [{ status: "incomplete", arguments: CUT }] });

    const stored = await caller.post({ model, tools, input: "Go on.", previous_response_id: cut.body.id });
    expect(stored.body.error).toMatchObject({
      code: "invalid_value",
      message: `previous_response_id: ${KEPT}`,
      param: "previous_response_id",
    });
    const sent = await scene.chat(tenant.key, { model, messages: [{ role: "user", content: "Hi" }, message] });
    const param = "messages.1.tool_calls.0.function.arguments";
    expect(sent.body.error).toMatchObject({ code: "invalid_value", message: `${param}: ${SENT}`, param });
    // A caller that sends the items has no previous response, although the format has one.
    const input = [{ role: "user", content: "Hi" }, ...cut.body.output];
    const items = await caller.post({ model, tools, input });
    expect(items.body.error).toMatchObject({ message: `input.1.arguments: ${SENT}`, param: "input.1.arguments" });

    scene.at(other).next(whole({ text: "Hello." }));
    const before = await caller.post({ model, tools, input: "Go on.", previous_response_id: first.body.id });
    expect([before.status, before.body.status]).toEqual([200, "completed"]);
  },
);
