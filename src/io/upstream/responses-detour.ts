import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { Call } from "../../language/canon/call.ts";
import { TOOLS_OR_THINKING } from "../../language/canon/effort.ts";
import type { NeedSource } from "../../language/canon/needs.ts";
import { firstEncodingError } from "../../language/dialects/responses/upstream/request.ts";
import type { ModelFacts } from "../../language/dialects/upstream-dialect.ts";

/** Over chat completions it takes no tools at all. */
export const TOOLLESS_CHAT = "toolless-chat";

/** Over chat completions it is held to no schema. */
export const SCHEMALESS_CHAT = "schemaless-chat";

type When = "never" | "always" | "tools" | "tools_and_thinking" | "schema";

/**
 * The one place that decides which of two formats an endpoint is asked in, for callers of any dialect but responses. The
 * usual one is the first of its dialects; that of responses is for requests that would lose something there, and for
 * endpoints that speak nothing else.
 */
function whenThrough({ responsesApi, dialects, quirks }: Endpoint): When {
  if (!responsesApi) return "never";
  if (dialects.length === 0) return "always";
  if (quirks === undefined) return "never";
  if (quirks.includes(TOOLLESS_CHAT)) return "tools";
  if (quirks.includes(SCHEMALESS_CHAT)) return "schema";
  return quirks.includes(TOOLS_OR_THINKING) ? "tools_and_thinking" : "never";
}

const DECIDING = { tools: "tools", tools_and_thinking: "thinking_with_tools", schema: "json_schema" } as const;

/** As the planner sees it: what is demanded decides. A wish that can be done without keeps nobody out. */
export function requiresResponsesApi(endpoint: Endpoint, needs: readonly NeedSource[]): boolean {
  const when = whenThrough(endpoint);
  if (when === "never" || when === "always") return when === "always";
  return needs.some(({ need }) => need === DECIDING[when]);
}

/** As it is sent: a wish to think that can be done without is heard where nothing else is lost for it. */
export function usesResponsesApi(endpoint: Endpoint, call: Call, facts: () => ModelFacts): boolean {
  const when = whenThrough(endpoint);
  if (when === "never" || when === "always") return when === "always";
  if (when === "schema") return call.responseFormat.is === "json_schema";
  if (call.tools.length === 0) return false;
  return when === "tools" || isToThink(call, facts);
}

function isToThink(call: Call, facts: () => ModelFacts): boolean {
  const { reasoning } = call;
  if (reasoning === undefined || reasoning.effort === "none") return false;
  return reasoning.isOptional !== true || firstEncodingError(call, facts()) === undefined;
}

/**
 * The model as it is there: what it cannot do over chat completions it can. A wish to think that can be done without is
 * none that it can be told beside what cannot be said together with it.
 */
export function factsViaResponses(facts: ModelFacts, call: Call): ModelFacts {
  const there = { ...facts, quirks: facts.quirks.filter((quirk) => quirk !== TOOLS_OR_THINKING) };
  const givesWay = call.reasoning?.isOptional === true && firstEncodingError(call, facts) !== undefined;
  return givesWay ? { ...there, reasoning: "untold" } : there;
}

/** The model thinks, and its provider gives the thoughts out encrypted to who asks for them. */
export function encryptsReasoning({ features, quirks }: Endpoint): boolean {
  return features.reasoning === true && quirks?.includes("encrypted-reasoning") === true;
}
