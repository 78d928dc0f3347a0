import type { ChatRequest } from "../../../../contract/schemas/chat.ts";
import type { JsonObject, MemberPatch, ParsedBody } from "../../../../kit/json.ts";
import type { Call, Effort } from "../../../canon/call.ts";
import { effortFor } from "../../../canon/effort.ts";
import type { Parameter } from "../../../canon/parameters.ts";
import type { Quirk } from "../../../canon/quirks.ts";
import { ROUTING_HINT_FIELDS } from "../../../canon/routing-hints.ts";
import { SAMPLING_PARAMETERS } from "../../../canon/sampling.ts";
import { validateLabels } from "../../labels.ts";
import { FIELDS } from "../fields.ts";
import { encodeToolChoice, USAGE_UNASKED } from "../upstream/request.ts";
import { TOOL_IDS_9, ToolIds } from "../upstream/tool-ids.ts";
import { ALL_ROLES, SIGNED_TOOL_CALLS } from "../upstream/turns.ts";
import {
  CACHE_CONTROL,
  type HistoryPatches,
  type HistoryRules,
  hasCacheControl,
  retainedValue,
  rewriteHistory,
} from "./history.ts";

/** Two names of one limit: servers that know only one reject or ignore the other. */
const OUTPUT_LIMITS = ["max_tokens", "max_completion_tokens"] as const;

export type OutputLimit = (typeof OUTPUT_LIMITS)[number];

export type PassthroughChatFacts = {
  readonly upstreamModel: string;
  /** Null: the client's own name is kept. */
  readonly outputLimit: OutputLimit | null;
  /** Efforts that the model accepts; absent or null: unknown. */
  readonly efforts?: readonly Effort[] | null;
  /** The effort "none" is then honoured without a field, which the server may reject. */
  readonly neverReasons?: boolean;
  /** The server rejects sampling parameters, whatever their value. */
  readonly neverSamples?: boolean;
  readonly quirks: readonly Quirk[];
};

/** The parameter for the output limit: from a quirk, or from a parameter list that has only one of the two names. */
export function outputLimitOf({ quirks, supportedParams }: LimitFacts): OutputLimit | null {
  if (quirks?.includes("max-completion-tokens")) return "max_completion_tokens";
  if (quirks?.includes("max-tokens")) return "max_tokens";
  if (supportedParams === null) return null;
  const known = OUTPUT_LIMITS.filter((name) => supportedParams.includes(name));
  return known.length === 1 ? (known[0] ?? null) : null;
}

type LimitFacts = {
  readonly quirks?: readonly Quirk[] | undefined;
  /** Null: unknown. */
  readonly supportedParams: readonly string[] | null;
};

/** All other members reach the provider byte for byte. */
export function requestPatches(request: ChatRequest, call: Call, facts: PassthroughChatFacts): MemberPatch[] {
  const { upstreamModel, outputLimit, quirks } = facts;
  if (call.openAiParameters !== undefined) validateLabels(call);
  const patches: MemberPatch[] = [{ key: "model", json: JSON.stringify(upstreamModel) }];
  for (const field of ROUTING_HINT_FIELDS) if (field in request) patches.push({ key: field, json: null });
  if (call.stream && !quirks.includes(USAGE_UNASKED)) {
    const options = { ...request.stream_options, include_usage: true };
    patches.push({ key: "stream_options", json: JSON.stringify(options) });
  } else if (request.stream_options !== undefined) patches.push({ key: "stream_options", json: null });
  const effort = call.reasoning === undefined && call.tools.length === 0 ? undefined : effortFor(call, facts);
  const sent = effort === "none" && facts.neverReasons ? null : effort;
  if (sent !== undefined && (request.reasoning_effort ?? null) !== sent)
    patches.push({ key: "reasoning_effort", json: sent && JSON.stringify(sent) });
  if (request.reasoning !== undefined) patches.push({ key: "reasoning", json: null });
  if (request.thinking !== undefined) patches.push({ key: "thinking", json: null });
  if (request.allowed_tools) {
    patches.push({ key: "allowed_tools", json: null });
    // Servers reject the field without tools.
    if (call.tools.length > 0) {
      const { tool_choice } = encodeToolChoice(call.toolChoice, request.allowed_tools);
      patches.push({ key: "tool_choice", json: JSON.stringify(tool_choice) });
    }
  }
  if (outputLimit !== null && call.maxOutputTokens !== undefined) patches.push(...limitPatches(request, outputLimit));
  if (call.neutralParameters !== undefined) dropNeutral(patches, call.neutralParameters, facts);
  dropNulls(patches, request);
  return patches;
}

function limitPatches(request: ChatRequest, wanted: OutputLimit): MemberPatch[] {
  const other = wanted === "max_tokens" ? "max_completion_tokens" : "max_tokens";
  if (!request[other]) return [];
  return [
    { key: wanted, json: String(request[other]) },
    { key: other, json: null },
  ];
}

/** A parameter that this server lacks is accepted only with a value that requests nothing. */
function dropNeutral(patches: MemberPatch[], neutral: readonly Parameter[], facts: PassthroughChatFacts): void {
  for (const key of neutral)
    if (FIELDS[key] === "400" || (facts.neverSamples && SAMPLING_PARAMETERS.has(key)))
      patches.push({ key, json: null });
}

/** Some servers reject null, which means absent. */
function dropNulls(patches: MemberPatch[], request: ChatRequest): void {
  const fields: Readonly<Record<string, unknown>> = request;
  for (const key in fields) {
    if (fields[key] === null && !patches.some((patch) => patch.key === key)) patches.push({ key, json: null });
  }
}

/**
 * Quirk: the server rejects assistant messages with anything besides text and tool calls, and `name` outside tool
 * messages.
 */
const PLAIN_HISTORY = "plain-history";
/** Quirk: the server rejects reasoning in the message history. */
const THOUGHTLESS_HISTORY = "thoughtless-history";
/** Quirk: the server supports cache_control as in the messages dialect. */
const CACHE_MARKS = "cache-marks";

type HistoryFacts = {
  readonly quirks: readonly Quirk[];
  /** The creator whose reasoning signatures the model can verify; null: none. */
  readonly signer: string | null;
};

/** Removes history content that the server rejects; undefined if there is none. */
export function historyPatches(
  { messages, tools }: ChatRequest,
  body: ParsedBody,
  facts: HistoryFacts,
): HistoryPatches | undefined {
  const rules = historyRules(facts, body);
  const isAffected = (message: JsonObject) => isRefused(message, rules);
  const isHistoryAccepted =
    !messages.some(isAffected) && !(rules.stripsCacheControl && tools?.some((tool) => hasCacheControl(tool)));
  return isHistoryAccepted ? undefined : rewriteHistory(body, rules, isAffected);
}

function historyRules({ quirks, signer }: HistoryFacts, { text }: ParsedBody): HistoryRules {
  return {
    strips: stripLevel(quirks),
    signer,
    hasDeveloperRole: quirks.includes(ALL_ROLES),
    requiresSignatures: quirks.includes(SIGNED_TOOL_CALLS),
    stripsCacheControl: !quirks.includes(CACHE_MARKS) && text.includes(CACHE_CONTROL),
    toolIds: quirks.includes(TOOL_IDS_9) ? new ToolIds(quirks) : undefined,
  };
}

function stripLevel(quirks: readonly Quirk[]): HistoryRules["strips"] {
  if (quirks.includes(PLAIN_HISTORY)) return "everything";
  return quirks.includes(THOUGHTLESS_HISTORY) ? "reasoning" : "foreign_signatures";
}

function isRefused(message: JsonObject, rules: HistoryRules): boolean {
  const { role } = message;
  // Non-assistant messages need rewriting only for cache_control and names.
  if (!rules.stripsCacheControl && rules.strips !== "everything" && (role === "user" || role === "system"))
    return false;
  for (const key in message) if (retainedValue(role, key, message[key], rules) !== message[key]) return true;
  return false;
}
