import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DIALECT_SCRIPTS, type DialectScript } from "../support/dialect-scripts.ts";
import type { Tenant } from "../support/gateway.ts";
import { responseJson } from "../support/responses-native.ts";
import { RESPONSES_COLUMN, responsesAlone } from "../support/responses-script.ts";
import { openScene, type Scene } from "../support/scene.ts";

/** Each of them loses digits as a JavaScript number. */
const ID = "9007199254740993";
const OTHER = "-9007199254740995";
const MOST = "9223372036854775807";
const OVERFLOWING = "1e400";
const PRECISE = "0.12345678901234567891";
const NUMBERS = [ID, OTHER, MOST, OVERFLOWING, PRECISE];
const PROPERTIES = `{"id":{"type":"integer","enum":[${ID},${OTHER},7]},"n":{"type":"number","maximum":${MOST},"minItems":1.0,"const":${OVERFLOWING}},"list":{"type":"array","items":{"default":${PRECISE}}}}`;
const SCHEMA = `{"type":"object","properties":${PROPERTIES},"required":["id","n","list"],"additionalProperties":false}`;
/** Not a valid schema: numbers where only schemas are allowed. */
const ODD = `{"type":"object","properties":{"a":${ID},"b":{"items":${MOST},"anyOf":[${ID}]}}}`;

type SchemaRequest = { readonly surface: string; readonly text: (model: string, schema: string) => string };
const MESSAGES = '"messages":[{"role":"user","content":"Hi"}]';
const SCHEMA_REQUESTS: Readonly<Record<string, SchemaRequest>> = {
  "CHAT-03 numbers in tools of chat": {
    surface: "chat/completions",
    text: (model, schema) =>
      `{"model":"${model}",${MESSAGES},"temperature":0.5,"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]}`,
  },
  "CHAT-03 numbers in strict tools of chat": {
    surface: "chat/completions",
    text: (model, schema) =>
      `{"model":"${model}",${MESSAGES},"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":${schema}}}]}`,
  },
  "CHAT-04 numbers in the json_schema of chat": {
    surface: "chat/completions",
    text: (model, schema) =>
      `{"model":"${model}",${MESSAGES},"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":${schema}}}}`,
  },
  "MSG-02 numbers in tools of messages": {
    surface: "messages",
    text: (model, schema) =>
      `{"model":"${model}","max_tokens":50,${MESSAGES},"tools":[{"name":"f","input_schema":${schema}}]}`,
  },
  "MSG-02 numbers in the format of messages": {
    surface: "messages",
    text: (model, schema) =>
      `{"model":"${model}","max_tokens":50,${MESSAGES},"output_config":{"format":{"type":"json_schema","schema":${schema}}}}`,
  },
  "MSG-02 numbers in the format of messages by its older name": {
    surface: "messages",
    text: (model, schema) =>
      `{"model":"${model}","max_tokens":50,${MESSAGES},"output_format":{"type":"json_schema","schema":${schema}}}`,
  },
  "RESP-02 numbers in tools of responses": {
    surface: "responses",
    text: (model, schema) =>
      `{"model":"${model}","input":"Hi","tools":[{"type":"function","name":"f","parameters":${schema}}]}`,
  },
  "RESP-02 numbers in tools in a group of responses": {
    surface: "responses",
    text: (model, schema) =>
      `{"model":"${model}","input":"Hi","tools":[{"type":"namespace","name":"g","tools":[{"type":"function","name":"f","parameters":${schema}}]}]}`,
  },
  "RESP-02 numbers in the format of responses": {
    surface: "responses",
    text: (model, schema) =>
      `{"model":"${model}","input":"Hi","text":{"format":{"type":"json_schema","name":"a","schema":${schema}}}}`,
  },
};

type Row = { readonly columns: Readonly<Record<string, DialectScript>>; readonly env: () => Record<string, string> };
/** A provider of the responses dialect only also has models of the other providers, so it is connected alone. */
const ROWS: readonly Row[] = [
  { columns: DIALECT_SCRIPTS, env: () => ({}) },
  { columns: { responses: { ...RESPONSES_COLUMN, whole: () => ({ json: responseJson() }) } }, env: responsesAlone },
];

describe.each(ROWS)("schema numbers beyond JavaScript's precision", ({ columns, env }) => {
  let scene: Scene;
  let tenant: Tenant;
  beforeAll(async () => {
    scene = await openScene(
      Object.values(columns).map(({ provider }) => provider),
      env(),
    );
    tenant = await scene.gateway.tenant();
    for (const { provider, whole } of Object.values(columns)) scene.at(provider).always(whole({ text: "{}" }));
  });
  afterAll(() => scene.close());

  const ask = ({ surface, text }: SchemaRequest, model: string, schema: string) =>
    scene.gateway.call(tenant.key, `/v1/${surface}`, { body: text(model, schema) });

  async function received({ provider, model }: DialectScript, request: SchemaRequest, schema: string): Promise<string> {
    const answer = await ask(request, model, schema);
    expect(answer.status, answer.text).toBe(200);
    return scene.at(provider).requests.at(-1)?.raw.toString() ?? "";
  }

  const pairs = Object.entries(SCHEMA_REQUESTS).flatMap(([what, request]) =>
    Object.entries(columns).map(([name, column]) => ({ what, name, request, column })),
  );

  test.each(pairs)("$what reach $name with all digits", async ({ request, column }) => {
    const raw = await received(column, request, SCHEMA);
    for (const number of NUMBERS) expect(raw).toContain(number);
    expect(raw).not.toContain("rawJSON");
  });

  test.each(pairs)("$what where a schema belongs reach $name as numbers", async ({ request, column }) => {
    const raw = await received(column, request, ODD);
    for (const number of [ID, MOST]) expect(raw).toContain(number);
    expect(raw).not.toContain("rawJSON");
  });

  test.each(pairs)("$what instead of a schema are refused before $name is called, at any length", async (pair) => {
    const short = await ask(pair.request, pair.column.model, "7");
    const long = await ask(pair.request, pair.column.model, MOST);
    expect([short.status, long.status], long.text).toEqual([400, 400]);
    expect(long.body.error.message).toBe(short.body.error.message);
  });
});
