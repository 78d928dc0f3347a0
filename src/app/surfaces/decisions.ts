import { Fault, fault, invalidValue, unknownField } from "../../contract/faults.ts";
import { CRITERIA_MAX, DecisionRequest, QUESTIONS_MAX } from "../../contract/schemas/decisions.ts";
import { OpenaiDecisionRequest } from "../../contract/schemas/openai-decisions.ts";
import type { Workspace } from "../../domain/tenancy/workspace.ts";
import { isJsonObject, type JsonObject, type ParsedBody, parseJsonText } from "../../kit/json.ts";
import { losslessMember } from "../../kit/lossless-json.ts";
import { decodeRoutingHints, type RoutingHints } from "../../language/canon/routing-hints.ts";
import type { DecisionCall } from "../../language/decisions/call.ts";
import { decodeOpenaiRequest } from "../../language/decisions/openai-request.ts";
import { type DecisionRenderer, decisionRenderer } from "../../language/decisions/render.ts";
import { decodeRequest } from "../../language/decisions/request.ts";
import { type Handler, principalOf } from "../exchange.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import type { DecodedRequest } from "../pipeline/inference-request.ts";
import { inferenceHandler } from "../pipeline/run.ts";
import { BODY_LIMITS, decodeWith, parseJson } from "../request-input.ts";
import { DecisionInferenceRequest } from "./decision-request.ts";
import { missingInterfaceFault } from "./missing-interface.ts";

/** POST /decisions, in the gateway's own and in OpenAI's shape. */
export function decisionsHandlers(gateway: GatewayDeps): Record<string, Handler> {
  const surface = (decode: (body: ParsedBody, workspace: Workspace) => DecodedDecision, limits = BODY_LIMITS) =>
    inferenceHandler(gateway, "decisions", (bytes, exchange) =>
      decodedRequest(gateway, decode(parseJson(bytes, limits), principalOf(exchange).workspace)),
    );
  return { createDecision: surface(decodeNative, NATIVE_LIMITS), createOpenaiDecision: surface(decodeOpenai) };
}

/** Names of questions are data. */
const NATIVE_LIMITS = { ...BODY_LIMITS, protoKeys: { depth: 2, member: "questions" } };

type DecodedDecision = {
  readonly call: DecisionCall;
  readonly renderer: DecisionRenderer;
  readonly routingHints?: RoutingHints | undefined;
};

function decodeNative(body: ParsedBody, { currency }: Workspace): DecodedDecision {
  requireSizes(body.value);
  requireUniqueNames(body);
  const { value } = body;
  requireKnownFields(value["questions"]);
  // `state` is free-form: it skips validation and keeps the exact digits of its numbers.
  const state = isJsonObject(value["state"]) ? losslessMember(body, "state") : undefined;
  const request = decodeNamed(isJsonObject(state) ? { ...value, state: {} } : value);
  const call = decodeRequest(isJsonObject(state) ? { ...request, state } : request);
  const routingHints = decodeRoutingHints({ data_classes: request.data_classes });
  return { call, renderer: decisionRenderer(currency), routingHints };
}

const PROTO = "__proto__";

/** The validator drops a key `__proto__`, so it sees that question under another name, which no other one has. */
function decodeNamed(value: JsonObject): DecisionRequest {
  const { questions } = value;
  if (!isJsonObject(questions) || !Object.hasOwn(questions, PROTO)) return decodeWith(DecisionRequest, value);
  let standIn = `${PROTO}_`;
  while (Object.hasOwn(questions, standIn)) standIn += "_";
  try {
    const request = decodeWith(DecisionRequest, { ...value, questions: withKey(questions, PROTO, standIn) });
    return { ...request, questions: withKey(request.questions, standIn, PROTO) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const original = (text: string) => text.replaceAll(`questions.${standIn}`, `questions.${PROTO}`);
    const { message, param } = error;
    throw error.reworded({ message: original(message), param: param === undefined ? param : original(param) });
  }
}

/** The same members in the same order, in an object without a prototype. */
function withKey<Value>(members: Readonly<Record<string, Value>>, key: string, other: string): Record<string, Value> {
  const renamed: Record<string, Value> = Object.create(null);
  for (const [name, value] of Object.entries(members)) renamed[name === key ? other : name] = value;
  return renamed;
}

function decodeOpenai(body: ParsedBody): DecodedDecision {
  const { value } = body;
  const exact = { ...value, input: losslessMember(body, "input"), questions: losslessMember(body, "questions") };
  return decodeOpenaiRequest(decodeWith(OpenaiDecisionRequest, exact));
}

/** Rejects oversized lists before validation, which would block the event loop. */
function requireSizes(body: JsonObject): void {
  const problem = sizeFault(body["questions"]);
  if (problem === undefined) return;
  const unknown = Object.keys(body).find((field) => !Object.hasOwn(DecisionRequest.shape, field));
  if (unknown !== undefined) throw unknownFieldFault(unknown);
  requireKnownFields(body["questions"]);
  throw problem;
}

function sizeFault(questions: unknown): Fault | undefined {
  if (!isJsonObject(questions)) return undefined;
  const entries = Object.entries(questions);
  if (entries.length > QUESTIONS_MAX) return invalidValue("questions", `must have 1 to ${QUESTIONS_MAX} questions`);
  for (const [key, question] of entries) {
    const { type, criteria } = isJsonObject(question) ? question : {};
    if (typeof criteria !== "object" || criteria === null || Object.keys(criteria).length <= CRITERIA_MAX) continue;
    const param = `questions.${key}.criteria`;
    if (type === "noul") return unknownFieldFault(param);
    const what = Array.isArray(criteria) ? "levels" : "options";
    return invalidValue(param.slice(0, 200), `must have at most ${CRITERIA_MAX} ${what}`);
  }
  return undefined;
}

/** Rejects duplicate names: JSON parsing keeps only the last one, and every question needs an answer. */
function requireUniqueNames({ text, members }: ParsedBody): void {
  const questions = membersOf(text, members, "questions");
  if (questions === undefined) return;
  for (const { key: name } of questions.members.spans) {
    const question = membersOf(questions.text, questions.members, name);
    if (question !== undefined) membersOf(question.text, question.members, "criteria");
  }
}

type Members = Pick<ParsedBody, "text" | "members">;

/** Undefined when the member is not an object. The text is valid JSON already. */
function membersOf(text: string, members: ParsedBody["members"], name: string): Members | undefined {
  const span = members.get(name);
  if (span === undefined || text[span.valueStart] !== "{") return undefined;
  const parsed = parseJsonText(text.slice(span.valueStart, span.valueEnd), { ...BODY_LIMITS, protoKeys: { depth: 1 } });
  if (!("problem" in parsed)) return parsed;
  const message = `The body is not a valid JSON object: a name in "${name.slice(0, 64)}" occurs twice.`;
  throw fault("invalid_json", { message });
}

const QUESTION_FIELDS: ReadonlySet<string> = new Set(["type", "instructions", "criteria"]);

/** An unknown field is reported before an invalid type (ERR-10). */
function requireKnownFields(questions: unknown): void {
  if (!isJsonObject(questions)) return;
  for (const [key, question] of Object.entries(questions)) {
    if (!isJsonObject(question)) continue;
    const unknown = Object.keys(question).find((field) => !QUESTION_FIELDS.has(field));
    if (unknown !== undefined) throw unknownFieldFault(`questions.${key}.${unknown}`);
  }
}

const unknownFieldFault = (name: string) => unknownField(name.slice(0, 200));

function decodedRequest({ catalogue }: GatewayDeps, { call, renderer, routingHints }: DecodedDecision): DecodedRequest {
  const unservedFault = (modelId: string) =>
    missingInterfaceFault(catalogue.snapshot, {
      modelId,
      has: ({ decisionsInterface }) => decisionsInterface !== null,
      code: "decisions_not_supported",
      what: "decisions",
    });
  return { request: new DecisionInferenceRequest(call, renderer, { routingHints, unservedFault }) };
}
