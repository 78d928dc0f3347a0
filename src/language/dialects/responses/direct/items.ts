import { invalidValue } from "../../../../contract/faults.ts";
import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";

/** The beginning of everything sealed that went through this gateway; behind it stands who made the seal. */
const GATEWAY_PREFIX = "gw1:";

/** Encrypted content opens only where it was made, so callers and the store see it under its maker's name. */
export function providerPrefix(provider: string): string {
  return `${GATEWAY_PREFIX}responses.${provider}:`;
}

export type OutgoingItems = {
  readonly items: readonly unknown[];
  /** False: every item is the very one that came in. */
  readonly changed: boolean;
  /** Places of the items that were left out. */
  readonly dropped: readonly number[];
};

/** A conversation as a provider that keeps nothing can read it. */
export function outgoingItems(items: readonly unknown[], provider: string): OutgoingItems {
  const dropped: number[] = [];
  let changed = false;
  const kept: unknown[] = [];
  for (const [at, item] of items.entries()) {
    const sent = isJsonObject(item) ? outgoingItem(item, at, provider) : item;
    if (sent === undefined) dropped.push(at);
    else kept.push(sent);
    if (sent !== item) changed = true;
  }
  return { items: kept, changed, dropped };
}

/** Calls of the provider's own tools are known by their id, and the dialect demands it: those keep theirs. */
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
  const sealed = item["encrypted_content"];
  const opened = typeof sealed === "string" ? dataForProvider(provider, sealed) : undefined;
  if (typeof sealed === "string" && opened === undefined)
    throw invalidValue(
      `input.${at}.encrypted_content`,
      "another provider made it, and only that one can read it. Leave the item out, or choose a model of that provider",
    );
  const unsealed = opened === sealed ? item : { ...item, encrypted_content: opened };
  // Nothing is stored there, so an id of the item would be looked up in vain.
  if (unsealed["id"] === undefined || ID_REQUIRED.has(type)) return unsealed;
  const { id: _, ...rest } = unsealed;
  return rest;
}

/** Thoughts without their seal or their text say nothing to a model that does not have them any more. */
function outgoingReasoning(item: JsonObject, provider: string): JsonObject | undefined {
  const { id, status, encrypted_content: sealed, ...rest } = item;
  const isSealed = typeof sealed === "string" && sealed !== "";
  if (!isSealed) {
    if (!Array.isArray(rest["content"]) || rest["content"].length === 0) return undefined;
    return id === undefined && status === undefined && sealed === undefined ? item : rest;
  }
  const opened = dataForProvider(provider, sealed);
  if (opened === undefined) return undefined;
  if (id === undefined && status === undefined && opened === sealed) return item;
  return { ...rest, encrypted_content: opened };
}

/** What the provider itself wrote; what was never sealed is taken for that. Undefined: another one made it. */
function dataForProvider(provider: string, sealed: string): string | undefined {
  if (!sealed.startsWith(GATEWAY_PREFIX)) return sealed;
  const prefix = providerPrefix(provider);
  return sealed.startsWith(prefix) ? sealed.slice(prefix.length) : undefined;
}
