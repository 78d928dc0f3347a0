import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { expect } from "vitest";
import { parse } from "yaml";
import { isJsonObject } from "../../src/kit/json.ts";
import type { Json } from "./gateway.ts";
import { OPENAI_DOCUMENT } from "./recordings.ts";

/** Checks a response, or an event of its stream, against OpenAI's document. */
export function expectByDocument(value: Json): void {
  const response = value.object === "response" ? counted(value) : value;
  const { response: inner } = value;
  hold(
    inner === undefined ? response : { ...value, response: counted(inner) },
    value.object === "response" ? "Response" : document.eventNames.get(value.type),
  );
}

/** The document demands a count of reasoning, which not every provider reports: then it is absent, not zero. */
function counted(response: Json): Json {
  if (response.usage == null) return response;
  return { ...response, usage: { output_tokens_details: { reasoning_tokens: 0 }, ...response.usage } };
}

/**
 * The same for a request to create a response. Of what a model said before, the document demands what only an answer
 * has: ids, which the API looks for in vain where nothing is stored, and probabilities.
 */
export function expectRequestByDocument(value: Json): void {
  const input = value.input.map((item: Json) => {
    if (item.type === "reasoning") return { id: "rs_1", ...item };
    if (item.role !== "assistant") return item;
    const content = item.content.map((part: Json) => (part.type === "output_text" ? { logprobs: [], ...part } : part));
    return { id: "msg_1", status: "completed", ...item, content };
  });
  hold({ ...value, input }, "CreateResponse");
}

function hold(value: Json, name: string | undefined): void {
  if (name === undefined) throw new Error(`the document has no event ${value.type}`);
  const validate = document.validator(name);
  validate(value);
  const problems = (validate.errors ?? []).map(({ instancePath, message }) => [instancePath, message]);
  expect(problems, JSON.stringify(value)).toEqual([]);
}

type Document = {
  /** Names of schemas by the type of the event they describe. */
  readonly eventNames: ReadonlyMap<string, string>;
  validator(name: string): ValidateFunction;
};

const document = openDocument();

function openDocument(): Document {
  const { components }: Json = parse(readFileSync(OPENAI_DOCUMENT, "utf8"), { maxAliasCount: -1 });
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema({ $id: "openai", components: { schemas: withoutNullable(components.schemas) } });
  const eventNames = new Map<string, string>();
  for (const { $ref } of components.schemas.ResponseStreamEvent.anyOf) {
    const name = $ref.split("/").at(-1);
    for (const type of components.schemas[name].properties?.type?.enum ?? []) eventNames.set(type, name);
  }
  const compiled = new Map<string, ValidateFunction>();
  return {
    eventNames,
    validator(name) {
      const validate = compiled.get(name) ?? ajv.compile({ $ref: `openai#/components/schemas/${name}` });
      compiled.set(name, validate);
      return validate;
    },
  };
}

/** OpenAPI 3.0's `nullable` still stands in the document; JSON Schema does not know it. Of its choices several may fit. */
function withoutNullable(value: unknown): Json {
  if (Array.isArray(value)) return value.map(withoutNullable);
  if (!isJsonObject(value)) return value;
  const { nullable, oneOf, ...given } = value;
  const rest = Array.isArray(oneOf) ? { ...given, anyOf: oneOf } : given;
  const plain = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, withoutNullable(inner)]));
  return nullable === true ? { anyOf: [plain, { type: "null" }] } : plain;
}
