import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { Call } from "../../language/canon/call.ts";
import { TOOLS_OR_THINKING } from "../../language/canon/effort.ts";
import type { NeedSource } from "../../language/canon/need.ts";
import { firstEncodingError } from "../../language/dialects/responses/upstream/request.ts";
import type { ModelFacts } from "../../language/dialects/upstream-dialect.ts";

/** Quirk: no tools over chat completions. */
export const TOOLLESS_CHAT = "toolless-chat";

/** Quirk: no JSON schema over chat completions. */
export const SCHEMALESS_CHAT = "schemaless-chat";

type DetourCondition = "never" | "always" | "tools" | "tools_and_thinking" | "schema";

/**
 * Decides which of its two APIs an endpoint is called with, for callers of any dialect but responses. The default is its
 * first dialect; the Responses API serves requests that would lose something there, and endpoints without another API.
 */
function detourCondition({ responsesApi, dialects, quirks }: Endpoint): DetourCondition {
  if (!responsesApi) return "never";
  if (dialects.length === 0) return "always";
  if (quirks === undefined) return "never";
  if (quirks.includes(TOOLLESS_CHAT)) return "tools";
  if (quirks.includes(SCHEMALESS_CHAT)) return "schema";
  return quirks.includes(TOOLS_OR_THINKING) ? "tools_and_thinking" : "never";
}

const DECIDING_NEED = { tools: "tools", tools_and_thinking: "thinking_with_tools", schema: "json_schema" } as const;

/** For the planner: requirements decide. A dispensable reasoning effort excludes no endpoint. */
export function requiresResponsesApi(endpoint: Endpoint, needs: readonly NeedSource[]): boolean {
  const condition = detourCondition(endpoint);
  if (condition === "never" || condition === "always") return condition === "always";
  return needs.some(({ need }) => need === DECIDING_NEED[condition]);
}

/** For the attempt: a dispensable reasoning effort is honoured if nothing else is lost for it. */
export function usesResponsesApi(endpoint: Endpoint, call: Call, facts: () => ModelFacts): boolean {
  const condition = detourCondition(endpoint);
  if (condition === "never" || condition === "always") return condition === "always";
  if (condition === "schema") return call.responseFormat.is === "json_schema";
  if (call.tools.length === 0) return false;
  return condition === "tools" || requestsReasoning(call, facts);
}

function requestsReasoning(call: Call, facts: () => ModelFacts): boolean {
  const { reasoning } = call;
  if (reasoning === undefined || reasoning.effort === "none") return false;
  return reasoning.isOptional !== true || firstEncodingError(call, facts()) === undefined;
}

/**
 * Model facts over the Responses API, which lifts the restrictions of chat completions. A dispensable reasoning effort is
 * dropped if the API cannot encode it together with the rest of the call.
 */
export function factsViaResponses(facts: ModelFacts, call: Call): ModelFacts {
  const viaResponses = { ...facts, quirks: facts.quirks.filter((quirk) => quirk !== TOOLS_OR_THINKING) };
  const dropsReasoning = call.reasoning?.isOptional === true && firstEncodingError(call, facts) !== undefined;
  return dropsReasoning ? { ...viaResponses, reasoning: "untold" } : viaResponses;
}

/** The provider returns encrypted reasoning on request. */
export function encryptsReasoning({ features, quirks }: Endpoint): boolean {
  return features.reasoning === true && quirks?.includes("encrypted-reasoning") === true;
}
