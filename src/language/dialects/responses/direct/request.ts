import { isJsonObject, type JsonObject, type MemberPatch, type ParsedBody } from "../../../../kit/json.ts";
import { losslessArray, losslessMember } from "../../../../kit/lossless-json.ts";
import type { Effort } from "../../../canon/call.ts";
import { ROUTING_HINT_FIELDS } from "../../../canon/routing-hints.ts";
import { outgoingItems } from "./items.ts";

/** What the caller asked of the gateway. */
export type DirectResponsesInput = {
  readonly body: ParsedBody;
  /** The whole conversation: what came before, then the new input. */
  readonly items: readonly JsonObject[];
  /** The fields of the response object that repeat the request. */
  readonly echo: JsonObject;
};

export type DirectResponsesFacts = {
  readonly upstreamModel: string;
  readonly provider: string;
  /** The model thinks, and its provider gives the thoughts out encrypted to who asks for them. */
  readonly encryptsReasoning: boolean;
  /** How hard the model is told to think; absent: nobody said. */
  readonly effort?: Effort | undefined;
  /** Places in `tools` of what this endpoint is not asked for, because it would bill it apart. */
  readonly droppedTools?: readonly number[] | undefined;
};

export type DirectRequestPatches = {
  readonly patches: readonly MemberPatch[];
  /** Items of the conversation that were left out, by their place. */
  readonly dropped: readonly string[];
};

/** Fields that are meant for the gateway; the state of a conversation is one of its own. */
const GATEWAY_FIELDS = ["background", "previous_response_id", ...ROUTING_HINT_FIELDS] as const;

const ENCRYPTED_REASONING = "reasoning.encrypted_content";

/** What is changed of the caller's bytes before a provider of the same dialect gets them. */
export function requestPatches(
  { body, items, echo }: DirectResponsesInput,
  facts: DirectResponsesFacts,
): DirectRequestPatches {
  const patches: MemberPatch[] = [
    { key: "model", json: JSON.stringify(facts.upstreamModel) },
    { key: "store", json: "false" },
  ];
  for (const key of GATEWAY_FIELDS) if (body.members.has(key)) patches.push({ key, json: null });
  const dropped = [
    ...patchInput(patches, body.value, items, facts.provider),
    ...patchTools(patches, body, facts.droppedTools ?? []),
  ];
  patchEffort(patches, body, facts.effort);
  const include = Array.isArray(body.value["include"]) ? body.value["include"] : [];
  // A kept answer can only be gone on from if its thoughts are kept with it: the provider keeps nothing.
  if (echo["store"] === true && facts.encryptsReasoning && !include.includes(ENCRYPTED_REASONING))
    patches.push({ key: "include", json: JSON.stringify([...include, ENCRYPTED_REASONING]) });
  return { patches, dropped };
}

/** The input stays as it was sent, unless there is a history before it or an item in it has to be changed. */
function patchInput(
  patches: MemberPatch[],
  asked: JsonObject,
  items: readonly JsonObject[],
  provider: string,
): readonly string[] {
  const { input, previous_response_id } = asked;
  const own = Array.isArray(input) ? input : undefined;
  const isWhole = previous_response_id == null && !own?.some(isReference);
  if (isWhole && own === undefined) return [];
  const outgoing = outgoingItems(isWhole ? (own ?? []) : items, provider);
  if (!isWhole || outgoing.changed) patches.push({ key: "input", json: JSON.stringify(outgoing.items) });
  const before = isWhole ? 0 : items.length - (own?.length ?? 1);
  return outgoing.dropped.map((at) => (at < before ? `history.${at}` : `input.${at - before}`));
}

/** The word for how hard to think, in the place of the caller's own or where the caller has none. */
function patchEffort(patches: MemberPatch[], body: ParsedBody, effort: Effort | undefined): void {
  const { reasoning } = body.value;
  if (effort === undefined || (isJsonObject(reasoning) && reasoning["effort"] === effort)) return;
  const asked = losslessMember(body, "reasoning");
  patches.push({ key: "reasoning", json: JSON.stringify({ ...(isJsonObject(asked) ? asked : {}), effort }) });
}

/** Tools that were only offered; without any left there is nothing to choose from either. */
function patchTools(patches: MemberPatch[], body: ParsedBody, leftOut: readonly number[]): readonly string[] {
  const tools = leftOut.length === 0 ? undefined : losslessArray(body, "tools");
  if (tools === undefined) return [];
  const kept = tools.filter((_, at) => !leftOut.includes(at));
  patches.push({ key: "tools", json: kept.length === 0 ? null : JSON.stringify(kept) });
  if (kept.length === 0) patches.push({ key: "tool_choice", json: null });
  return leftOut.map((at) => `tools.${at}`);
}

function isReference(item: unknown): boolean {
  return isJsonObject(item) && item["type"] === "item_reference";
}
