import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { UpstreamProblem } from "../canon/upstream-problem.ts";
import type { MemberRule } from "../dialects/reply-members.ts";
import { INPUT_TYPES, type ModerationCall, type ModerationInputType, type ModerationResult } from "./call.ts";

/** A decoded reply; tokens are undefined when the provider reports none. */
export type ModerationReply = {
  readonly results: readonly ModerationResult[];
  readonly tokens: number | undefined;
  readonly id: string | null;
};

/** A provider's wire format for moderations. */
export type ModerationWireFormat = {
  readonly path: string;
  /** Which members of a reply callers receive. */
  readonly reply: MemberRule;
  encode(call: ModerationCall, upstreamModel: string): JsonObject;
  /** Undefined when the body is not a reply in this format. */
  decode(body: unknown): ModerationReply | undefined;
  decodeProblem(
    body: unknown,
    status: number | null,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): UpstreamProblem;
};

/** More categories than any model has; a longer list is not a verdict. */
const CATEGORIES_MAX = 256;

/**
 * Undefined unless every category has a verdict and a score: an incomplete verdict must not read as harmless. The subject
 * is flagged as well if a category is.
 */
function decodeResult(value: unknown): ModerationResult | undefined {
  if (!isJsonObject(value)) return undefined;
  const { flagged, category_applied_input_types: applied } = value;
  const categories = decodeMap(value["categories"], (verdict) =>
    typeof verdict === "boolean" || verdict === null ? verdict : undefined,
  );
  const scores = decodeMap(value["category_scores"], (score) =>
    (typeof score === "number" && Number.isFinite(score)) || score === null ? score : undefined,
  );
  if (categories === undefined || scores === undefined) return undefined;
  if (scores.size !== categories.size || [...categories.keys()].some((name) => !scores.has(name))) return undefined;
  if (flagged !== undefined && typeof flagged !== "boolean") return undefined;
  if (flagged !== true && isUnjudged(categories)) return undefined;
  const inputTypes = applied === undefined ? undefined : decodeMap(applied, decodeInputTypes);
  if (applied !== undefined && inputTypes === undefined) return undefined;
  return { isFlagged: flagged === true || [...categories.values()].includes(true), categories, scores, inputTypes };
}

/** The model judged nothing. */
const isUnjudged = (categories: ReadonlyMap<string, boolean | null>) =>
  [...categories.values()].every((verdict) => verdict === null);

function decodeMap<Value>(
  members: unknown,
  decode: (value: unknown) => Value | undefined,
): ReadonlyMap<string, Value> | undefined {
  if (!isJsonObject(members)) return undefined;
  const entries = Object.entries(members);
  if (entries.length === 0 || entries.length > CATEGORIES_MAX) return undefined;
  const decoded = new Map<string, Value>();
  for (const [name, value] of entries) {
    const read = decode(value);
    if (read === undefined) return undefined;
    decoded.set(name, read);
  }
  return decoded;
}

function decodeInputTypes(list: unknown): readonly ModerationInputType[] | undefined {
  if (!Array.isArray(list)) return undefined;
  const known = INPUT_TYPES.filter((type) => list.includes(type));
  return known.length === list.length ? known : undefined;
}

/** Undefined unless every result is one. */
export function decodeResults(results: unknown): readonly ModerationResult[] | undefined {
  if (!Array.isArray(results)) return undefined;
  const decoded = results.map(decodeResult);
  return decoded.every((result) => result !== undefined) ? decoded : undefined;
}
