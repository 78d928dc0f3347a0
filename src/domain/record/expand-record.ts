import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { storedCandidates } from "./candidate-columns.ts";

const DEFAULT_USAGE = {
  cachedTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
  characters: null,
  seconds: null,
  estimated: false,
};

/** Restores what a compact text omits. Does not validate. */
export function expandRecord(value: unknown): unknown {
  if (!isJsonObject(value) || value["short"] !== true) return value;
  const { endpoint, model, provider, level, usage, attempts, decision } = value;
  const served = { endpoint, model, provider, level };
  return {
    clientRequestId: null,
    router: null,
    ...value,
    usage: isJsonObject(usage) ? { ...DEFAULT_USAGE, ...usage } : usage,
    attempts: withDefaults({ endpoint, provider, maybeAccepted: false }, attempts),
    decision: isJsonObject(decision) ? expandDecision(decision, served, storedCandidates(value)) : decision,
    short: undefined,
    columns: undefined,
    packed: undefined,
  };
}

function expandDecision(decision: JsonObject, served: JsonObject, stored: JsonObject[] | undefined): JsonObject {
  const candidates = stored ?? withDefaults({ ...served, outcome: "planned" }, decision["candidates"]);
  const objects = Array.isArray(candidates) ? candidates.filter(isJsonObject) : [];
  const planned = objects.filter(({ outcome }) => outcome === "planned").map(({ endpoint }) => endpoint);
  return { ...decision, candidates, order: decision["order"] ?? planned };
}

/** Adds the defaults to each object of a list. */
function withDefaults(defaults: JsonObject, list: unknown): unknown {
  if (!Array.isArray(list)) return list;
  return list.map((item: unknown) => (isJsonObject(item) ? { ...defaults, ...item } : item));
}
