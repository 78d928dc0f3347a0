import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DialectId } from "../../src/domain/catalogue/catalogue.ts";
import type { JsonObject } from "../../src/kit/json.ts";
import { PARAMETERS, type Parameter } from "../../src/language/canon/parameters.ts";
import { FIELD_TABLES } from "../../src/language/dialects/field-tables.ts";
import { FIELDS as RESPONSES_FIELDS } from "../../src/language/dialects/responses/fields.ts";
import type { FieldTable } from "../../src/language/dialects/upstream-dialect.ts";
import { replyOf } from "../support/converse.ts";
import type { Tenant } from "../support/gateway.ts";
import { whole } from "../support/gemini.ts";
import { messageJson } from "../support/messages.ts";
import { RESPONSES_COLUMN, responsesAlone } from "../support/responses-script.ts";
import { openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatJson, type ReplySource } from "../support/upstream.ts";

/** A dialect in the matrix: a model of the shipped catalogue that takes all its parameters, and its provider. */
type Column = {
  readonly fields: FieldTable;
  readonly provider: Provider;
  readonly model: string;
  readonly answer: ReplySource;
  readonly env?: () => Record<string, string>;
};
type Dialect = DialectId | "responses";

const COLUMNS: Readonly<Record<Dialect, Column>> = {
  D1: {
    fields: FIELD_TABLES.D1.fields,
    provider: "deepinfra",
    model: "openai/gpt-oss-120b",
    answer: { json: chatJson() },
  },
  D2: {
    fields: FIELD_TABLES.D2.fields,
    provider: "anthropic",
    model: "anthropic/claude-sonnet-4-6",
    answer: { json: messageJson([{ type: "text", text: "Hello." }]) },
  },
  D3: {
    fields: FIELD_TABLES.D3.fields,
    provider: "google-ai-studio",
    model: "google/gemini-2.5-flash",
    answer: { json: whole([{ text: "Hello." }]) },
  },
  D4: {
    fields: FIELD_TABLES.D4.fields,
    provider: "aws-bedrock",
    model: "anthropic/claude-sonnet-4-6",
    answer: {
      json: replyOf({
        content: [{ text: "Hello." }],
        stopReason: "end_turn",
        usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      }),
    },
  },
  responses: {
    fields: RESPONSES_FIELDS,
    provider: RESPONSES_COLUMN.provider,
    model: RESPONSES_COLUMN.model,
    answer: RESPONSES_COLUMN.whole({ text: "Hello." }),
    env: responsesAlone,
  },
};

type Row = {
  /** The parameter as a caller sends it. */
  readonly sent: JsonObject;
  /** Required context of the parameter, also sent without it. */
  readonly beside?: JsonObject;
  /** What the provider receives if the dialect honours it. D1 and responses receive what was sent. */
  readonly seen: Partial<Record<Dialect, JsonObject>>;
};

const TOOL = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };
const SCHEMA = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };
/** The schema is sent as text. */
const D4_FORMAT = {
  outputConfig: {
    textFormat: { type: "json_schema", structure: { jsonSchema: { name: "n", schema: JSON.stringify(SCHEMA) } } },
  },
};
/** The dialect has no value for none: the tools are dropped. */
const D4_NO_TOOLS: JsonObject = expect.not.objectContaining({ toolConfig: expect.anything() });
const d4Thinking = (additionalModelRequestFields: JsonObject) => ({ additionalModelRequestFields });
const d3 = (generationConfig: JsonObject) => ({ generationConfig });
const d3Thinking = (thinkingConfig: JsonObject) => d3({ thinkingConfig });
const d3Choice = (functionCallingConfig: JsonObject) => ({ toolConfig: { functionCallingConfig } });
const D2_THINKING = { type: "adaptive", display: "summarized" };
const LOW = {
  D1: { reasoning_effort: "low" },
  D2: { thinking: D2_THINKING, output_config: { effort: "low" } },
  D3: d3Thinking({ thinkingBudget: 1024, includeThoughts: true }),
  D4: d4Thinking({ thinking: D2_THINKING, output_config: { effort: "low" } }),
  responses: { reasoning: { effort: "low", summary: "auto" } },
};

/** Every row of the parameter table; a name after it is an alias. */
const ROWS: Readonly<Record<Parameter, Readonly<Record<string, Row>>>> = {
  temperature: {
    plain: {
      sent: { temperature: 0.3 },
      seen: { D2: { temperature: 0.3 }, D3: d3({ temperature: 0.3 }), D4: { inferenceConfig: { temperature: 0.3 } } },
    },
  },
  top_p: {
    plain: {
      sent: { top_p: 0.4 },
      seen: { D2: { top_p: 0.4 }, D3: d3({ topP: 0.4 }), D4: { inferenceConfig: { topP: 0.4 } } },
    },
  },
  max_tokens: {
    plain: {
      sent: { max_tokens: 77 },
      seen: {
        D2: { max_tokens: 77 },
        D3: d3({ maxOutputTokens: 77 }),
        D4: { inferenceConfig: { maxTokens: 77 } },
        responses: { max_output_tokens: 77 },
      },
    },
    max_completion_tokens: {
      sent: { max_completion_tokens: 78 },
      seen: {
        D2: { max_tokens: 78 },
        D3: d3({ maxOutputTokens: 78 }),
        D4: { inferenceConfig: { maxTokens: 78 } },
        responses: { max_output_tokens: 78 },
      },
    },
  },
  response_format: {
    json_schema: {
      sent: { response_format: { type: "json_schema", json_schema: { name: "n", strict: true, schema: SCHEMA } } },
      seen: {
        D2: { output_config: { format: { type: "json_schema", schema: SCHEMA } } },
        D3: d3({ responseMimeType: "application/json", responseJsonSchema: SCHEMA }),
        D4: D4_FORMAT,
        responses: { text: { format: { type: "json_schema", name: "n", strict: true, schema: SCHEMA } } },
      },
    },
    json_object: {
      sent: { response_format: { type: "json_object" } },
      seen: {
        D2: { system: [{ type: "text", text: expect.stringContaining("JSON object") }] },
        D3: d3({ responseMimeType: "application/json" }),
        D4: { system: [{ text: expect.stringContaining("JSON object") }] },
        responses: { text: { format: { type: "json_object" } } },
      },
    },
  },
  tools: {
    plain: {
      sent: { tools: [TOOL] },
      seen: {
        D2: { tools: [{ name: "f", input_schema: { type: "object", properties: {} } }] },
        D3: { tools: [{ functionDeclarations: [{ name: "f" }] }] },
        D4: {
          toolConfig: {
            tools: [{ toolSpec: { name: "f", inputSchema: { json: { type: "object", properties: {} } } } }],
          },
        },
        responses: { tools: [{ type: "function", name: "f", parameters: { type: "object", properties: {} } }] },
      },
    },
  },
  allowed_tools: {
    plain: {
      sent: { allowed_tools: ["f"] },
      beside: { tools: [TOOL] },
      seen: {
        D1: { tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto" } } },
        responses: { tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }] } },
      },
    },
  },
  tool_choice: {
    none: {
      sent: { tool_choice: "none" },
      beside: { tools: [TOOL] },
      seen: { D2: { tool_choice: { type: "none" } }, D3: d3Choice({ mode: "NONE" }), D4: D4_NO_TOOLS },
    },
    auto: {
      sent: { tool_choice: "auto" },
      beside: { tools: [TOOL] },
      seen: {
        D2: { tool_choice: { type: "auto" } },
        D3: d3Choice({ mode: "AUTO" }),
        D4: { toolConfig: { toolChoice: { auto: {} } } },
      },
    },
    required: {
      sent: { tool_choice: "required" },
      beside: { tools: [TOOL] },
      seen: {
        D2: { tool_choice: { type: "any" } },
        D3: d3Choice({ mode: "ANY" }),
        D4: { toolConfig: { toolChoice: { any: {} } } },
      },
    },
    named: {
      sent: { tool_choice: { type: "function", function: { name: "f" } } },
      beside: { tools: [TOOL] },
      seen: {
        D2: { tool_choice: { type: "tool", name: "f" } },
        D3: d3Choice({ mode: "ANY", allowedFunctionNames: ["f"] }),
        D4: { toolConfig: { toolChoice: { tool: { name: "f" } } } },
        responses: { tool_choice: { type: "function", name: "f" } },
      },
    },
  },
  reasoning_effort: {
    plain: {
      sent: { reasoning_effort: "high" },
      seen: {
        D2: { thinking: D2_THINKING, output_config: { effort: "high" } },
        D3: d3Thinking({ thinkingBudget: 24_576, includeThoughts: true }),
        D4: d4Thinking({ thinking: D2_THINKING, output_config: { effort: "high" } }),
        responses: { reasoning: { effort: "high", summary: "auto" } },
      },
    },
    none: {
      sent: { reasoning_effort: "none" },
      seen: {
        D2: { thinking: { type: "disabled" } },
        D3: d3Thinking({ thinkingBudget: 0 }),
        D4: d4Thinking({ thinking: { type: "disabled" } }),
        responses: { reasoning: { effort: "none" } },
      },
    },
    reasoning: { sent: { reasoning: { effort: "low" } }, seen: LOW },
    "reasoning as a word": { sent: { reasoning: "low" }, seen: LOW },
    "thinking as a word": { sent: { thinking: "low" }, seen: LOW },
    thinking: {
      sent: { thinking: { type: "enabled", budget_tokens: 8000 } },
      seen: {
        D1: { reasoning_effort: "medium" },
        D2: { thinking: D2_THINKING, output_config: { effort: "medium" } },
        D3: d3Thinking({ thinkingBudget: 8000, includeThoughts: true }),
        D4: d4Thinking({ thinking: D2_THINKING, output_config: { effort: "medium" } }),
        responses: { reasoning: { effort: "medium", summary: "auto" } },
      },
    },
  },
  stop: {
    plain: {
      sent: { stop: ["END", "FIN"] },
      seen: {
        D2: { stop_sequences: ["END", "FIN"] },
        D3: d3({ stopSequences: ["END", "FIN"] }),
        D4: { inferenceConfig: { stopSequences: ["END", "FIN"] } },
      },
    },
    text: {
      sent: { stop: "END" },
      seen: {
        D2: { stop_sequences: ["END"] },
        D3: d3({ stopSequences: ["END"] }),
        D4: { inferenceConfig: { stopSequences: ["END"] } },
      },
    },
  },
  top_k: { plain: { sent: { top_k: 40 }, seen: { D2: { top_k: 40 }, D3: d3({ topK: 40 }) } } },
  seed: { plain: { sent: { seed: 7 }, seen: {} } },
  logprobs: { plain: { sent: { logprobs: true }, seen: {} } },
  top_logprobs: { plain: { sent: { top_logprobs: 2 }, beside: {}, seen: {} } },
  presence_penalty: { plain: { sent: { presence_penalty: 0.5 }, seen: {} } },
  frequency_penalty: { plain: { sent: { frequency_penalty: 0.5 }, seen: {} } },
  logit_bias: { plain: { sent: { logit_bias: { "50256": -100 } }, seen: {} } },
  verbosity: { plain: { sent: { verbosity: "low" }, seen: { responses: { text: { verbosity: "low" } } } } },
  prediction: { plain: { sent: { prediction: { type: "content", content: "x" } }, seen: {} } },
  prompt_cache_key: { plain: { sent: { prompt_cache_key: "k" }, seen: {} } },
  safety_identifier: { plain: { sent: { safety_identifier: "hash" }, seen: {} } },
  service_tier: { plain: { sent: { service_tier: "default" }, seen: {} } },
  user: { plain: { sent: { user: "someone" }, seen: {} } },
  parallel_tool_calls: { plain: { sent: { parallel_tool_calls: false }, beside: { tools: [TOOL] }, seen: {} } },
  min_p: { plain: { sent: { min_p: 0.1 }, seen: {} } },
  repetition_penalty: { plain: { sent: { repetition_penalty: 1.1 }, seen: {} } },
  store: { plain: { sent: { store: false }, seen: {} } },
  session_id: { plain: { sent: { session_id: "s" }, seen: {} } },
  cost_tier: { plain: { sent: { cost_tier: "low" }, seen: {} } },
  remaining_turns: { plain: { sent: { remaining_turns: 3 }, seen: {} } },
  data_classes: { plain: { sent: { data_classes: { personal: { action: "report" } } }, seen: {} } },
  cache: { plain: { sent: { cache: { ttl: 0 } }, seen: {} } },
  metadata: { plain: { sent: { metadata: { a: "b" } }, seen: {} } },
  modalities: { plain: { sent: { modalities: ["text"] }, seen: {} } },
  include_reasoning: { plain: { sent: { include_reasoning: true }, seen: {} } },
  chat_template_kwargs: { plain: { sent: { chat_template_kwargs: { a: 1 } }, seen: {} } },
};

const OUTCOMES = {
  yes: "is honoured: the provider receives it",
  "400": "is refused by name, and no provider is called",
  "no-op": "is accepted and ignored: the provider receives what it would without it",
  svc: "is the gateway's own: the provider receives what it would without it",
} as const;

const columns = Object.entries(COLUMNS);

describe.each(columns)("%s", (dialect, { fields, provider, model, answer, env }) => {
  let scene: Scene;
  let tenant: Tenant;
  beforeAll(async () => {
    scene = await openScene([provider], env?.());
    tenant = await scene.gateway.tenant();
    scene.at(provider).always(answer);
  });
  afterAll(() => scene.close());

  const ask = async (more: JsonObject) => {
    const before = scene.at(provider).requests.length;
    const { status, body } = await scene.chat(tenant.key, { model, ...more });
    const received = scene.at(provider).requests.slice(before);
    return { status, body, calls: received.length, received: received.at(-1)?.json };
  };

  const cases = PARAMETERS.flatMap((row) => Object.entries(ROWS[row]).map(([way, given]) => ({ row, way, given })));

  test.each(cases.map((one) => ({ ...one, cell: fields[one.row], outcome: OUTCOMES[fields[one.row]] })))(
    "PARAM-01 $row ($way) $outcome",
    async ({ row, given: { sent, beside = {}, seen }, cell }) => {
      const { status, body, calls, received } = await ask({ ...beside, ...sent });
      if (cell === "400") {
        expect(status).toBe(400);
        expect(body.error).toMatchObject({ code: "unsupported_parameter", type: "invalid_request_error", param: row });
        expect(body.error.message).toContain(row);
        expect(body.error.message).toContain(model);
        expect(calls).toBe(0);
        return;
      }
      expect(status, JSON.stringify(body)).toBe(200);
      const without = (await ask(beside)).received;
      if (cell !== "yes") return expect(received).toEqual(without);
      const asSent = dialect === "D1" || dialect === "responses";
      const expected = seen[asDialect(dialect)] ?? (asSent ? sent : undefined);
      expect(expected, `what ${dialect} receives is not written down`).toBeDefined();
      expect(received).toMatchObject(expected ?? {});
      expect(without).not.toMatchObject(expected ?? {});
    },
  );

  test("PARAM-01 routing hints reach no provider under any name", async () => {
    const { received } = await ask({ session_id: "canary-1", cost_tier: "high", remaining_turns: 424_242 });
    for (const secret of ["canary-1", "cost_tier", "424242"]) expect(JSON.stringify(received)).not.toContain(secret);
  });
});

function asDialect(name: string): Dialect {
  if (name === "D1" || name === "D2" || name === "D3" || name === "D4" || name === "responses") return name;
  throw new Error(`no dialect ${name}`);
}
