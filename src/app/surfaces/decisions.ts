import { type Fault, fault, invalidValue, unknownField } from "../../contract/faults.ts";
import { CRITERIA_MAX, DecisionRequest, QUESTIONS_MAX } from "../../contract/schemas/decisions.ts";
import { OpenaiDecisionRequest } from "../../contract/schemas/openai-decisions.ts";
import type { Workspace } from "../../domain/tenancy/workspace.ts";
import { isJsonObject, type JsonObject, type ParsedBody, parseJsonText } from "../../kit/json.ts";
import { losslessMember } from "../../kit/lossless-json.ts";
import type { DecisionCall } from "../../language/decisions/call.ts";
import { decodeOpenaiRequest } from "../../language/decisions/openai-request.ts";
import { type DecisionRenderer, decisionRenderer } from "../../language/decisions/render.ts";
import { decodeRequest } from "../../language/decisions/request.ts";
import { type Handler, principalOf, streamed } from "../exchange.ts";
import type { DecodedRequest } from "../pipeline/decoded.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import { run } from "../pipeline/run.ts";
import { decodeWith, parseJson } from "../request-input.ts";
import { DecisionsErrand } from "./decision-request.ts";
import { noInterface } from "./missing-interface.ts";

/** POST /decisions, and the same questions in the shape of OpenAI's SDK. */
export function decisionsHandlers(gateway: GatewayDeps): Record<string, Handler> {
  const surface = (decode: (body: ParsedBody, workspace: Workspace) => Asked) =>
    streamed((exchange, sink) =>
      run(gateway, "decisions", exchange, sink, (bytes) =>
        decoded(gateway, decode(parseJson(bytes), principalOf(exchange).workspace)),
      ),
    );
  return { createDecision: surface(specified), createOpenaiDecision: surface(openai) };
}

type Asked = { readonly call: DecisionCall; readonly renderer: DecisionRenderer };

function specified(body: ParsedBody, { currency }: Workspace): Asked {
  requireSizes(body.value);
  requireNamesOnce(body);
  const { value } = body;
  requireKnownFields(value["questions"]);
  // An object of any shape has nothing to be checked; it is told with the digits that its numbers have.
  const state = isJsonObject(value["state"]) ? losslessMember(body, "state") : undefined;
  const request = decodeWith(DecisionRequest, isJsonObject(state) ? { ...value, state: {} } : value);
  const call = decodeRequest(isJsonObject(state) ? { ...request, state } : request);
  return { call, renderer: decisionRenderer(currency) };
}

function openai(body: ParsedBody): Asked {
  const { value } = body;
  const exact = { ...value, input: losslessMember(body, "input"), questions: losslessMember(body, "questions") };
  return decodeOpenaiRequest(decodeWith(OpenaiDecisionRequest, exact));
}

/** What is far too many is refused before all of it is read: that would keep everybody else waiting. */
function requireSizes(body: JsonObject): void {
  const problem = tooMany(body["questions"]);
  if (problem === undefined) return;
  const unknown = Object.keys(body).find((field) => !Object.hasOwn(DecisionRequest.shape, field));
  if (unknown !== undefined) throw notKnown(unknown);
  requireKnownFields(body["questions"]);
  throw problem;
}

function tooMany(questions: unknown): Fault | undefined {
  if (!isJsonObject(questions)) return undefined;
  const asked = Object.entries(questions);
  if (asked.length > QUESTIONS_MAX) return invalidValue("questions", `must have 1 to ${QUESTIONS_MAX} questions`);
  for (const [key, question] of asked) {
    const { type, criteria } = isJsonObject(question) ? question : {};
    if (typeof criteria !== "object" || criteria === null || Object.keys(criteria).length <= CRITERIA_MAX) continue;
    const param = `questions.${key}.criteria`;
    if (type === "noul") return notKnown(param);
    const what = Array.isArray(criteria) ? "levels" : "options";
    return invalidValue(param.slice(0, 200), `may have ${CRITERIA_MAX} ${what} at most`);
  }
  return undefined;
}

/** Of a name given twice only the last would be asked, and every question that is asked is answered. */
function requireNamesOnce({ text, members }: ParsedBody): void {
  const questions = membersOf(text, members, "questions");
  if (questions === undefined) return;
  for (const { key: name } of questions.members.spans) {
    const question = membersOf(questions.text, questions.members, name);
    if (question !== undefined) membersOf(question.text, question.members, "criteria");
  }
}

type Members = Pick<ParsedBody, "text" | "members">;

/** A member that is an object; undefined when it is none. The text is known to be JSON. */
function membersOf(text: string, members: ParsedBody["members"], name: string): Members | undefined {
  const span = members.get(name);
  if (span === undefined || text[span.valueStart] !== "{") return undefined;
  const parsed = parseJsonText(text.slice(span.valueStart, span.valueEnd));
  if (!("problem" in parsed)) return parsed;
  const message = `The body is not one well-formed JSON object: a name in "${name.slice(0, 64)}" is given twice.`;
  throw fault("invalid_json", { message });
}

const QUESTION_FIELDS: ReadonlySet<string> = new Set(["type", "instructions", "criteria"]);

/** What no type takes is named before a type that is wrong (ERR-10). */
function requireKnownFields(questions: unknown): void {
  if (!isJsonObject(questions)) return;
  for (const [key, question] of Object.entries(questions)) {
    if (!isJsonObject(question)) continue;
    const unknown = Object.keys(question).find((field) => !QUESTION_FIELDS.has(field));
    if (unknown !== undefined) throw notKnown(`questions.${key}.${unknown}`);
  }
}

const notKnown = (name: string) => unknownField(name.slice(0, 200));

function decoded({ snapshot }: GatewayDeps, { call, renderer }: Asked): DecodedRequest {
  const unserved = () =>
    noInterface(snapshot(), {
      modelId: call.model,
      has: ({ decisionsInterface }) => decisionsInterface !== null,
      code: "decisions_not_supported",
      what: "decisions",
    });
  return { request: new DecisionsErrand(call, renderer, unserved) };
}
