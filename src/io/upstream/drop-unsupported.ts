import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { Call } from "../../language/canon/call.ts";
import { isParameter } from "../../language/canon/parameters.ts";
import type { Part } from "../../language/canon/parts.ts";
import { ONE_SAMPLING, withOneSampling } from "../../language/canon/sampling.ts";
import { withoutUnsupportedEffort } from "../../language/dialects/optional-effort.ts";
import type { ModelFacts, UpstreamDialect } from "../../language/dialects/upstream-dialect.ts";
import { NO_DROPPED_FIELDS } from "./upstream-adapter.ts";

/** A call as one endpoint is told it, and the fields it is not told: the log names them. */
export type ReducedCall = { readonly call: Call; readonly droppedFields: readonly string[] };

/** `most`: how long an answer can get at all; null: nobody knows. */
export function dropUnsupported(
  asked: Call,
  { fields, temperatureMax, imageDetails, supportsCacheBreakpoints }: UpstreamDialect,
  facts: ModelFacts,
  most: number | null = facts.maxOutputTokens,
): ReducedCall {
  const { sampling } = facts;
  const heard = withoutUnsupportedEffort(asked, facts);
  const unheard = heard === asked ? [] : [asked.parameterNames?.reasoning_effort ?? "reasoning_effort"];
  const { call, cut } =
    sampling === false ? within(heard, most) : asSampled(within(heard, most), temperatureMax, facts);
  const advisory = (call.advisory ?? NO_DROPPED_FIELDS).filter(
    (field) => !(isParameter(field) && fields[field] === "yes" && call.openAiParameters?.[field] !== undefined),
  );
  const overlooked = detailsUnsaid(call, imageDetails);
  const unmarked = supportsCacheBreakpoints?.(facts) === true ? NO_DROPPED_FIELDS : marksOf(call);
  const more = [...unheard, ...cut, ...overlooked, ...unmarked];
  const unsaid = more.length === 0 ? advisory : [...new Set([...advisory, ...more])];
  // Where sampling is a demand, the planner has kept such a model out; elsewhere it is asked without.
  const refused = sampling === false ? sampled(call) : NO_DROPPED_FIELDS;
  if (refused.length === 0) return { call, droppedFields: unsaid };
  return {
    call: { ...call, temperature: undefined, topP: undefined, topK: undefined },
    droppedFields: [...unsaid, ...refused],
  };
}

type Cut = { readonly call: Call; readonly cut: readonly string[] };

/** Where the limit had to be sent, it says how much is enough: a model that writes less is asked for what it can write. */
function within(call: Call, most: number | null): Cut {
  const { maxOutputTokens: asked, reasoning, parameterNames } = call;
  if (most === null || asked === undefined || asked <= most) return { call, cut: NO_DROPPED_FIELDS };
  const cut = [`${parameterNames?.max_tokens ?? "max_tokens"} above ${most}`];
  const budgetTokens = reasoning?.budgetTokens ?? null;
  if (reasoning === undefined || budgetTokens === null || budgetTokens < most)
    return { call: { ...call, maxOutputTokens: most }, cut };
  return {
    call: { ...call, maxOutputTokens: most, reasoning: { ...reasoning, budgetTokens: most - 1 } },
    cut: [...cut, `${parameterNames?.reasoning_effort ?? "reasoning_effort"} above ${most - 1}`],
  };
}

/** How closely a picture is looked at is left to the model where the dialect has no such word. */
function detailsUnsaid({ turns }: Call, words: ReadonlySet<string> | undefined): readonly string[] {
  const isUnsaid = (part: Part): boolean => {
    if (part.is === "tool_result") return part.content.some(isUnsaid);
    return part.is === "image" && part.detail !== undefined && !words?.has(part.detail);
  };
  return turns.some(({ parts }) => parts.some(isUnsaid)) ? ["detail"] : NO_DROPPED_FIELDS;
}

/** What is worth caching is not said to a model that has no such cache. */
function marksOf({ turns, tools }: Call): readonly string[] {
  const isMarked = (part: Part): boolean =>
    ("cache" in part && part.cache !== undefined) || (part.is === "tool_result" && part.content.some(isMarked));
  const marked = tools.some(({ cache }) => cache !== undefined) || turns.some(({ parts }) => parts.some(isMarked));
  return marked ? ["cache_control"] : NO_DROPPED_FIELDS;
}

/** Who wants it hotter than the dialect can say gets it as hot as it can. */
function onScale(told: Cut, max: number | undefined): Cut {
  const { call, cut } = told;
  if (max === undefined || call.temperature === undefined || call.temperature <= max) return told;
  return { call: { ...call, temperature: max }, cut: [...cut, `temperature above ${max}`] };
}

/** Where it can be said, and once where the model takes one of two. */
function asSampled(told: Cut, temperatureMax: number | undefined, { quirks }: ModelFacts): Cut {
  const scaled = onScale(told, temperatureMax);
  if (!quirks.includes(ONE_SAMPLING)) return scaled;
  const { call, lost } = withOneSampling(scaled.call);
  return { call, cut: lost === undefined ? scaled.cut : [...scaled.cut, lost] };
}

/** Prompts are estimated: so much more of one may be there. */
const ESTIMATE_MARGIN = 0.1;
/** A model that is left no room at all says so itself. */
const ROOM_TOKENS_MIN = 1024;

/** What an endpoint can write in answer to a prompt: its limit, and what the prompt leaves of a window they share. */
export function availableOutputTokens(
  { limits }: Pick<Endpoint, "limits">,
  model: Pick<Model, "maxOutputTokens" | "contextTokens">,
  inputTokens: number,
): number | null {
  const limit = limits.maxOutputTokens ?? model.maxOutputTokens;
  const context = limits.contextTokens ?? model.contextTokens;
  if (context === null) return limit;
  const left = Math.max(ROOM_TOKENS_MIN, context - inputTokens - Math.ceil(inputTokens * ESTIMATE_MARGIN));
  return limit === null ? left : Math.min(limit, left);
}

function sampled({ temperature, topP, topK }: Call): string[] {
  const sent = { temperature, top_p: topP, top_k: topK };
  return Object.entries(sent).flatMap(([field, value]) => (value === undefined ? [] : [field]));
}
