import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { apiDocumentText } from "../../src/contract/documents.ts";
import { CountTokensRequest, MessagesRequest } from "../../src/contract/schemas/messages.ts";
import { ResponsesRequest } from "../../src/contract/schemas/responses.ts";
import type { Json } from "../support/gateway.ts";
import * as claudeCode from "./samples/claude-code.ts";
import * as codex from "./samples/codex.ts";

const { components } = JSON.parse(apiDocumentText({ version: "0.0.0", serverUrl: "https://gateway.example.eu" }));
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: "api", components });
const SCHEMAS = { MessagesRequest, CountTokensRequest, ResponsesRequest };

const user = (content: unknown) => ({ role: "user", content });
const message = (more: Json = {}) => ({ model: "m", max_tokens: 5, messages: [user("Hello")], ...more });
const response = (more: Json = {}) => ({ model: "m", input: "Hello", ...more });

/** Accepted and rejected requests, by the schema that validates and by the document that describes it. */
const BODIES: readonly (readonly [string, keyof typeof SCHEMAS, Json, "taken" | "refused"])[] = [
  ["Claude Code", "MessagesRequest", claudeCode.claudeCodeBody("m", claudeCode.FIRST_TURN), "taken"],
  ["Claude Code, later", "MessagesRequest", claudeCode.claudeCodeBudgetBody("m", claudeCode.LATER_TURN), "taken"],
  ["an unknown beta", "MessagesRequest", message({ novel: [1], messages: [user([{ type: "new", x: 1 }])] }), "taken"],
  ["provider tools", "MessagesRequest", message({ tools: [{ type: "web_search_20260101", name: "w" }] }), "taken"],
  ["nulls", "MessagesRequest", message({ system: null, tools: null, thinking: null, stop_sequences: null }), "taken"],
  ["no limit", "MessagesRequest", { model: "m", messages: [user("Hello")] }, "refused"],
  ["a text block without text", "MessagesRequest", message({ messages: [user([{ type: "text" }])] }), "refused"],
  ["a number for a conversation", "MessagesRequest", message({ messages: 7 }), "refused"],
  ["counting", "CountTokensRequest", { model: "m", messages: [user("Hello")], max_tokens: null }, "taken"],
  ["Codex", "ResponsesRequest", codex.codexBody("m", codex.FIRST_TURN, [codex.WEB_SEARCH, codex.APPLY_PATCH]), "taken"],
  [
    "Codex, later",
    "ResponsesRequest",
    codex.codexBody("m", [...codex.LATER_TURN, codex.THOUGHT, ...codex.GROUPED_CALL]),
    "taken",
  ],
  ["an unknown item", "ResponsesRequest", response({ input: [{ type: "new_call", x: 1 }], novel: 1 }), "taken"],
  [
    "a message has no type",
    "ResponsesRequest",
    response({ input: [user("Hello"), { ...user([]), type: null }] }),
    "taken",
  ],
  ["only the model", "ResponsesRequest", { model: "m", previous_response_id: "resp_1" }, "taken"],
  ["nulls", "ResponsesRequest", response({ tools: null, text: null, reasoning: null, include: null }), "taken"],
  [
    "a tool in the chat format",
    "ResponsesRequest",
    response({ tools: [{ type: "function", function: {} }] }),
    "refused",
  ],
  ["a call without an id", "ResponsesRequest", response({ input: [{ type: "function_call", name: "f" }] }), "refused"],
  ["an unknown effort", "ResponsesRequest", response({ reasoning: { effort: "extreme" } }), "refused"],
];

describe("the document and the validation agree", () => {
  test.each(BODIES)("GEN-02 %s in a %s", (_what, name, body, lot) => {
    const sent: unknown = JSON.parse(JSON.stringify(body));
    const validate = ajv.compile({ $ref: `api#/components/schemas/${name}` });
    expect(SCHEMAS[name].safeParse(sent).success ? "taken" : "refused").toBe(lot);
    expect(validate(sent) ? "taken" : "refused", JSON.stringify(validate.errors)).toBe(lot);
  });
});
