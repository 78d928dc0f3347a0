import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DIALECTS } from "../../src/domain/catalogue/catalogue.ts";
import type { JsonObject } from "../../src/kit/json.ts";
import { PARAMETERS, type Parameter } from "../../src/language/canon/parameters.ts";
import { FIELD_TABLES } from "../../src/language/dialects/field-tables.ts";
import { SANDBOX_MODELS } from "../support/dialect-scripts.ts";
import { startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";

const COLUMNS = DIALECTS.map((id) => [id, { fields: FIELD_TABLES[id].fields, model: SANDBOX_MODELS[id] }] as const);

const TOOL = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };
const SCHEMA = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };

/** Every row of the parameter table with values that are valid on their own. */
const ALONE: Readonly<Record<Parameter, readonly JsonObject[]>> = {
  temperature: [{ temperature: 0.3 }],
  top_p: [{ top_p: 0.4 }],
  max_tokens: [{ max_tokens: 77 }, { max_completion_tokens: 77 }],
  response_format: [
    { response_format: { type: "text" } },
    { response_format: { type: "json_object" } },
    { response_format: { type: "json_schema", json_schema: { name: "n", strict: true, schema: SCHEMA } } },
  ],
  tools: [{ tools: [TOOL] }, { tools: [] }],
  allowed_tools: [{ allowed_tools: ["x"] }],
  tool_choice: [{ tool_choice: "auto" }, { tool_choice: "none" }],
  reasoning_effort: [
    { reasoning_effort: "none" },
    { reasoning_effort: "low" },
    { reasoning_effort: "high" },
    { reasoning: { effort: "low" } },
    { thinking: { type: "enabled", budget_tokens: 8000 } },
  ],
  stop: [{ stop: "END" }, { stop: ["END", "FIN"] }],
  top_k: [{ top_k: 40 }],
  seed: [{ seed: 7 }],
  logprobs: [{ logprobs: true }, { logprobs: false }],
  top_logprobs: [{ top_logprobs: 2 }],
  presence_penalty: [{ presence_penalty: 0.5 }],
  frequency_penalty: [{ frequency_penalty: 0.5 }],
  logit_bias: [{ logit_bias: { "50256": -100 } }],
  verbosity: [{ verbosity: "low" }],
  prediction: [{ prediction: { type: "content", content: "x" } }],
  prompt_cache_key: [{ prompt_cache_key: "k" }],
  safety_identifier: [{ safety_identifier: "hash" }],
  service_tier: ["auto", "default", "flex", "priority"].map((service_tier) => ({ service_tier })),
  user: [{ user: "someone" }],
  parallel_tool_calls: [{ parallel_tool_calls: true }, { parallel_tool_calls: false }],
  min_p: [{ min_p: 0.1 }],
  repetition_penalty: [{ repetition_penalty: 1.1 }],
  store: [{ store: false }],
  session_id: [{ session_id: "s" }],
  cost_tier: [{ cost_tier: "low" }],
  remaining_turns: [{ remaining_turns: 3 }],
  data_classes: [{ data_classes: { personal: { action: "report" } } }],
  cache: [{ cache: { ttl: 60 } }],
  metadata: [{ metadata: { a: "b" } }],
  modalities: [{ modalities: ["text"] }],
  include_reasoning: [{ include_reasoning: true }],
  chat_template_kwargs: [{ chat_template_kwargs: { a: 1 } }],
};

let gateway: TestGateway;
let tenant: Tenant;
beforeAll(async () => {
  gateway = await startGateway();
  tenant = await gateway.tenant();
});
afterAll(() => gateway.close());

const ask = (more: JsonObject) => {
  const body = { messages: [{ role: "user", content: "Hello" }], ...more };
  return gateway.call(tenant.key, "/v1/chat/completions", { body });
};

describe.each(COLUMNS)("%s as the sandbox speaks it", (_dialect, { fields, model }) => {
  const cases = PARAMETERS.flatMap((row) => ALONE[row].map((sent) => ({ row, cell: fields[row], sent })));

  test.each(cases)("PARAM-01 $row ($cell) alone: $sent", async ({ row, cell, sent }) => {
    const { status, body } = await ask({ model, ...sent });
    if (cell !== "400") return expect(status, JSON.stringify(body)).toBe(200);
    expect([status, body.error.code, body.error.param]).toEqual([400, "unsupported_parameter", row]);
    expect(body.error.message).toContain(model);
  });
});

test.each([
  ["/v1/chat/completions", { messages: [{ role: "user", content: "Hello" }] }],
  ["/v1/responses", { input: "Hello" }],
])("PARAM-01 service_tier on %s has no extra cost in the sandbox, and the reply names it", async (path, body) => {
  const costOf = async (service_tier: string) => {
    const reply = await gateway.call(tenant.key, path, { body: { model: "sandbox/chat", ...body, service_tier } });
    expect([reply.status, reply.body.service_tier], JSON.stringify(reply.body)).toEqual([200, service_tier]);
    const { body: row } = await gateway.call(tenant.key, `/v1/requests/${reply.headers.get("x-svc-request-id")}`);
    return row.cost;
  };
  const usual = await costOf("default");
  expect(Number(usual)).toBeGreaterThan(0);
  for (const tier of ["flex", "priority", "scale"]) expect(await costOf(tier)).toBe(usual);
});
