import { invalidValue } from "../../../../contract/faults.ts";
import { isJsonObject, type JsonObject, type MemberPatch, type ParsedBody } from "../../../../kit/json.ts";
import { losslessArray, losslessMember } from "../../../../kit/lossless-json.ts";
import type { Effort } from "../../../canon/call.ts";
import { ROUTING_HINT_FIELDS } from "../../../canon/routing-hints.ts";

type PassthroughResponsesInput = {
  readonly body: ParsedBody;
  /** The whole conversation: stored history, then the new input. */
  readonly items: readonly JsonObject[];
  /** Fields of the response object that repeat the request. */
  readonly echo: JsonObject;
};

export type PassthroughResponsesFacts = {
  readonly upstreamModel: string;
  readonly provider: string;
  /** The provider returns encrypted reasoning on request. */
  readonly encryptsReasoning: boolean;
  readonly neverReasons?: boolean;
  /** Absent: unchanged. */
  readonly effort?: Effort | undefined;
  /** Indexes in `tools` of server tools that this endpoint would bill separately. */
  readonly droppedTools?: readonly number[] | undefined;
};

type PassthroughRequestPatches = {
  readonly patches: readonly MemberPatch[];
  /** Paths of dropped items and tools. */
  readonly dropped: readonly string[];
};

/** Addressed to the gateway, which also keeps the conversation state. */
const GATEWAY_FIELDS = ["background", "previous_response_id", ...ROUTING_HINT_FIELDS] as const;

const ENCRYPTED_REASONING = "reasoning.encrypted_content";

/** Patches for a provider of the same dialect. */
export function requestPatches(
  { body, items, echo }: PassthroughResponsesInput,
  facts: PassthroughResponsesFacts,
): PassthroughRequestPatches {
  const patches: MemberPatch[] = [
    { key: "model", json: JSON.stringify(facts.upstreamModel) },
    { key: "store", json: "false" },
  ];
  for (const key of GATEWAY_FIELDS) if (body.members.has(key)) patches.push({ key, json: null });
  const dropped = [
    ...patchInput(patches, body.value, items, facts.provider),
    ...patchTools(patches, body, facts.droppedTools ?? []),
  ];
  if (facts.neverReasons) dropped.push(...dropReasoning(patches, body));
  else patchEffort(patches, body, facts.effort);
  const include = Array.isArray(body.value["include"]) ? body.value["include"] : [];
  // Continuing a stored response requires its encrypted reasoning, and the provider stores nothing.
  if (echo["store"] === true && facts.encryptsReasoning && !include.includes(ENCRYPTED_REASONING))
    patches.push({ key: "include", json: JSON.stringify([...include, ENCRYPTED_REASONING]) });
  return { patches, dropped };
}

/** The input is rewritten only if history precedes it or an item changes. */
function patchInput(
  patches: MemberPatch[],
  request: JsonObject,
  items: readonly JsonObject[],
  provider: string,
): readonly string[] {
  const { input, previous_response_id } = request;
  const own = Array.isArray(input) ? input : undefined;
  const isWhole = previous_response_id == null && !own?.some(isReference);
  if (isWhole && own === undefined) return [];
  const outgoing = outgoingItems(isWhole ? (own ?? []) : items, provider);
  if (!isWhole || outgoing.changed) patches.push({ key: "input", json: JSON.stringify(outgoing.items) });
  const before = isWhole ? 0 : items.length - (own?.length ?? 1);
  return [...new Set(outgoing.dropped.map((at) => (at < before ? "previous_response_id" : "input[]")))];
}

/** A model that never reasons honours effort "none" and a summary request without the field, which its server rejects. */
function dropReasoning(patches: MemberPatch[], body: ParsedBody): readonly string[] {
  const { reasoning } = body.value;
  if (!isJsonObject(reasoning)) return [];
  patches.push({ key: "reasoning", json: null });
  return Object.keys(reasoning).flatMap((key) =>
    key === "effort" || reasoning[key] == null ? [] : [`reasoning.${key}`],
  );
}

/** Sets the effort in `reasoning`. */
function patchEffort(patches: MemberPatch[], body: ParsedBody, effort: Effort | undefined): void {
  const { reasoning } = body.value;
  if (effort === undefined || (isJsonObject(reasoning) && reasoning["effort"] === effort)) return;
  const request = losslessMember(body, "reasoning");
  patches.push({ key: "reasoning", json: JSON.stringify({ ...(isJsonObject(request) ? request : {}), effort }) });
}

/** Drops optional tools; tool_choice is invalid without any. */
function patchTools(patches: MemberPatch[], body: ParsedBody, droppedTools: readonly number[]): readonly string[] {
  const tools = droppedTools.length === 0 ? undefined : losslessArray(body, "tools");
  if (tools === undefined) return [];
  const remaining = tools.filter((_, at) => !droppedTools.includes(at));
  patches.push({ key: "tools", json: remaining.length === 0 ? null : JSON.stringify(remaining) });
  if (remaining.length === 0) patches.push({ key: "tool_choice", json: null });
  return ["tools[]"];
}

function isReference(item: unknown): boolean {
  return isJsonObject(item) && item["type"] === "item_reference";
}

/** Starts all encrypted content that passed through this gateway; the provider follows. */
const GATEWAY_PREFIX = "gw1:";

/** Only its creator can decrypt the content, so callers and the store see it with the creator's name. */
export function providerPrefix(provider: string): string {
  return `${GATEWAY_PREFIX}responses.${provider}:`;
}

type OutgoingItems = {
  readonly items: readonly unknown[];
  /** False: every item is identical to its input. */
  readonly changed: boolean;
  /** Indexes of dropped items. */
  readonly dropped: readonly number[];
};

/** Converts the conversation for a provider without stored state. */
function outgoingItems(items: readonly unknown[], provider: string): OutgoingItems {
  const dropped: number[] = [];
  let changed = false;
  const remaining: unknown[] = [];
  for (const [at, item] of items.entries()) {
    const sent = isJsonObject(item) ? outgoingItem(item, at, provider) : item;
    if (sent === undefined) dropped.push(at);
    else remaining.push(sent);
    if (sent !== item) changed = true;
  }
  return { items: remaining, changed, dropped };
}

/** The dialect requires ids on server tool calls. */
const ID_REQUIRED: ReadonlySet<unknown> = new Set([
  "code_interpreter_call",
  "computer_call",
  "file_search_call",
  "image_generation_call",
  "local_shell_call",
  "local_shell_call_output",
  "mcp_approval_request",
  "mcp_call",
  "mcp_list_tools",
  "web_search_call",
]);

function outgoingItem(item: JsonObject, at: number, provider: string): JsonObject | undefined {
  const { type } = item;
  if (type === "item_reference")
    throw invalidValue(
      `input.${at}`,
      `there is no stored item "${String(item["id"]).slice(0, 128)}". Send the item itself`,
    );
  if (type === "reasoning") return outgoingReasoning(item, provider);
  const encrypted = item["encrypted_content"];
  const decrypted = typeof encrypted === "string" ? dataForProvider(provider, encrypted) : undefined;
  if (typeof encrypted === "string" && decrypted === undefined)
    throw invalidValue(
      `input.${at}.encrypted_content`,
      "another provider created it, and only that provider can decrypt it. Omit the item, or use a model of that provider",
    );
  const rewritten = decrypted === encrypted ? item : { ...item, encrypted_content: decrypted };
  // The provider would look up an unknown id.
  if (rewritten["id"] === undefined || ID_REQUIRED.has(type)) return rewritten;
  const { id: _, ...rest } = rewritten;
  return rest;
}

/** Reasoning without text or encrypted content is useless to a stateless provider. */
function outgoingReasoning(item: JsonObject, provider: string): JsonObject | undefined {
  const { id, status, encrypted_content: encrypted, ...rest } = item;
  const isEncrypted = typeof encrypted === "string" && encrypted !== "";
  if (!isEncrypted) {
    if (!Array.isArray(rest["content"]) || rest["content"].length === 0) return undefined;
    return id === undefined && status === undefined && encrypted === undefined ? item : rest;
  }
  const decrypted = dataForProvider(provider, encrypted);
  if (decrypted === undefined) return undefined;
  if (id === undefined && status === undefined && decrypted === encrypted) return item;
  return { ...rest, encrypted_content: decrypted };
}

/**
 * The provider's original data; content without a prefix is assumed to be its own. Undefined: created by another
 * provider.
 */
function dataForProvider(provider: string, encrypted: string): string | undefined {
  if (!encrypted.startsWith(GATEWAY_PREFIX)) return encrypted;
  const prefix = providerPrefix(provider);
  return encrypted.startsWith(prefix) ? encrypted.slice(prefix.length) : undefined;
}
