import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/kit/json.ts";
import type { Parameter } from "../../src/language/canon/parameters.ts";
import { FIELD_TABLES } from "../../src/language/dialects/field-tables.ts";
import { NEUTRAL_VALUES } from "../../src/language/dialects/neutral-values.ts";
import { FIELDS as RESPONSES_FIELDS } from "../../src/language/dialects/responses/fields.ts";
import type { FieldTable } from "../../src/language/dialects/upstream-dialect.ts";
import { DIALECT_SCRIPTS, type DialectScript } from "../support/dialect-scripts.ts";
import { TEXT_COLUMNS } from "../support/field-columns.ts";
import type { FieldColumn } from "../support/field-outcomes.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { openScene, type Scene } from "../support/scene.ts";

const { chat, messages, gemini, nova, responses } = TEXT_COLUMNS;
const COLUMNS: readonly { readonly dialect: string; readonly fields: FieldTable; readonly column: FieldColumn }[] = [
  { dialect: "D1", fields: FIELD_TABLES.D1.fields, column: chat },
  { dialect: "D2", fields: FIELD_TABLES.D2.fields, column: messages },
  { dialect: "D3", fields: FIELD_TABLES.D3.fields, column: gemini },
  { dialect: "D4", fields: FIELD_TABLES.D4.fields, column: nova },
  { dialect: "responses", fields: RESPONSES_FIELDS, column: responses },
];

/** A value of each parameter that requests something; absent: every value is neutral or the parameter is a label. */
const REQUESTING: Readonly<Partial<Record<Parameter, unknown>>> = {
  stop: ["END"],
  logprobs: true,
  top_logprobs: 2,
  presence_penalty: 0.5,
  frequency_penalty: -0.5,
  logit_bias: { "50256": -100 },
  repetition_penalty: 1.1,
  min_p: 0.1,
  verbosity: "low",
  service_tier: "flex",
  store: true,
  metadata: { a: "b" },
  modalities: ["text", "audio"],
  include_reasoning: false,
  chat_template_kwargs: { enable_thinking: true },
  seed: 7,
  prediction: { type: "content", content: "x" },
  prompt_cache_key: "k",
};

const TOOLS = ["f", "g"].map((name) => ({
  type: "function",
  function: { name, parameters: { type: "object", properties: {} } },
}));

let scene: Scene;
let strict: Tenant;
let lenient: Tenant;
beforeAll(async () => {
  scene = await openScene([...new Set(COLUMNS.map(({ column }) => column.provider))], responses.env());
  strict = await scene.gateway.tenant();
  lenient = await scene.gateway.tenant();
  await policyOf(lenient, { parameters: "lenient" });
});
afterAll(() => scene.close());

const policyOf = ({ slug }: Tenant, policy: Json) =>
  scene.gateway.manage("PATCH", `/workspaces/${slug}/policy`, policy);

async function ask(key: string, { model, provider, whole }: FieldColumn, more: JsonObject) {
  const upstream = scene.at(provider);
  upstream.always(whole);
  const before = upstream.requests.length;
  const answer = await scene.chat(key, { model, ...more });
  return { answer, received: upstream.requests.slice(before).map(({ json }) => json) };
}

function isRefused({ status, body }: Called, parameter: string): void {
  expect(status, JSON.stringify(body)).toBe(400);
  expect(body.error).toMatchObject({ code: "unsupported_parameter", param: parameter });
}

describe.each(COLUMNS)("$dialect", ({ fields, column }) => {
  const lacking = NEUTRAL_VALUES.filter(({ parameter }) => fields[parameter] === "400").flatMap((row) =>
    row.values.map((value) => ({ parameter: row.parameter, value })),
  );

  test.each(lacking)(
    "PARAM-08 $parameter: $value is accepted where parameters are lenient, refused elsewhere, and reaches no provider",
    async ({ parameter, value }) => {
      const sent = { [parameter]: value };
      const accepted = await ask(lenient.key, column, sent);
      expect(accepted.answer.status, accepted.answer.text).toBe(200);
      expect(accepted.received).toEqual((await ask(lenient.key, column, {})).received);
      const refused = await ask(strict.key, column, sent);
      isRefused(refused.answer, parameter);
      expect(refused.received).toEqual([]);
    },
  );

  const requesting = Object.entries(REQUESTING).flatMap(([parameter, value]) =>
    Object.entries(fields).some(([name, cell]) => name === parameter && cell === "400") ? [{ parameter, value }] : [],
  );

  test.each(requesting)("PARAM-08 $parameter: $value is refused where parameters are lenient", async (row) => {
    const { answer, received } = await ask(lenient.key, column, { [row.parameter]: row.value });
    isRefused(answer, row.parameter);
    expect(received).toEqual([]);
  });

  test("PARAM-08 a supported parameter with a neutral value still reaches the provider", async () => {
    const sent = NEUTRAL_VALUES.filter(({ parameter }) => fields[parameter] === "yes");
    const body = Object.fromEntries(sent.map(({ parameter, values }) => [parameter, values[0]]));
    const [one, other] = [await ask(strict.key, column, body), await ask(lenient.key, column, body)];
    expect(one.answer.status, one.answer.text).toBe(200);
    expect(other.received).toEqual(one.received);
  });
});

const CALLS = { calls: ["f", "g"].map((name) => ({ id: `call_${name}`, name, input: { a: 1 } })) };
const SERIAL: Readonly<Record<string, unknown>> = {
  D2: { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
  D3: { systemInstruction: { parts: [{ text: expect.stringContaining("at most one tool") }] } },
  D4: { system: [{ text: expect.stringContaining("at most one tool") }] },
};
const SCRIPTS: readonly (readonly [string, DialectScript])[] = [
  ["D2", DIALECT_SCRIPTS.D2],
  ["D3", DIALECT_SCRIPTS.D3],
  ["D4", DIALECT_SCRIPTS.D4],
];

describe.each(SCRIPTS)("tools at %s", (dialect, script) => {
  test.each([false, true])(
    "PARAM-08 parallel_tool_calls: false is translated, and the caller gets one call (stream: %s)",
    async (stream) => {
      const { model, provider } = script;
      const column: FieldColumn = {
        ...chat,
        model,
        provider,
        whole: stream ? script.streamed(CALLS) : script.whole(CALLS),
      };
      const calls = async (parallel_tool_calls: boolean) => {
        const { answer, received } = await ask(lenient.key, column, { tools: TOOLS, parallel_tool_calls, stream });
        expect(answer.status, answer.text).toBe(200);
        return { names: answer.text.match(/"name":"[fg]"/g) ?? [], received };
      };
      const serial = await calls(false);
      expect(serial.names).toEqual(['"name":"f"']);
      expect(serial.received).toMatchObject([SERIAL[dialect]]);
      const parallel = await calls(true);
      expect(parallel.names).toEqual(['"name":"f"', '"name":"g"']);
      expect(parallel.received).not.toMatchObject([SERIAL[dialect]]);
    },
  );
});

describe("the option", () => {
  test("PARAM-08 a key's value replaces the workspace's, and clearing it follows the workspace again", async () => {
    const { slug } = lenient;
    const made = await scene.gateway.manage("POST", `/workspaces/${slug}/keys`, { policy: { parameters: "strict" } });
    const other = await scene.gateway.manage("POST", `/workspaces/${strict.slug}/keys`, {
      policy: { parameters: "lenient" },
    });
    expect(await scene.gateway.manage("GET", `/keys/${made["id"]}`)).toMatchObject({
      policy: { parameters: "strict" },
    });
    const status = async (key: unknown) =>
      (await ask(String(key), messages, { store: false, presence_penalty: 0 })).answer.status;
    expect([await status(made["key"]), await status(other["key"])]).toEqual([400, 200]);
    await scene.gateway.manage("PATCH", `/keys/${made["id"]}`, { policy: { parameters: null } });
    expect(await status(made["key"])).toBe(200);
  });

  test("PARAM-08 the default is strict, and the policy, its versions and an explanation show the option", async () => {
    const policy = (slug: string) => scene.gateway.manage("GET", `/workspaces/${slug}/policy`);
    expect([await policy(strict.slug), await policy(lenient.slug)]).toMatchObject([
      { parameters: null },
      { parameters: "lenient" },
    ]);
    const versions = await scene.gateway.manage("GET", `/workspaces/${lenient.slug}/policy/versions`);
    expect(versions["data"][0].policy).toMatchObject({ parameters: "lenient" });
    const { answer } = await ask(lenient.key, messages, { store: false });
    const row = await scene.row(String(answer.headers.get("x-svc-request-id")));
    expect(row.policies[0].policy).toMatchObject({ parameters: "lenient" });
  });

  test("PARAM-08 endpoints that lack a parameter stay candidates of a router", async () => {
    await scene.gateway.manage("PUT", `/workspaces/${lenient.slug}/routers/mixed`, {
      models: [messages.model, gemini.model],
    });
    const { answer } = await ask(lenient.key, { ...messages, model: `@${lenient.slug}/mixed` }, { store: false });
    expect(answer.status, answer.text).toBe(200);
    const refused = await scene.chat(lenient.key, { model: `@${lenient.slug}/mixed`, store: true });
    isRefused(refused, "store");
  });
});
