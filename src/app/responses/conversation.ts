import { type Fault, fault, invalidValue } from "../../contract/faults.ts";
import { outputItems } from "../../domain/responses/response-items.ts";
import type { JsonObject } from "../../kit/json.ts";
import { printable } from "../printable.ts";
import type { VisibleResponses } from "./visible-responses.ts";

const REFERENCES_MAX = 1000;
/** References are expanded before the request is sent, so repeats count each time. */
const REFERENCED_CHARS_MAX = 64 * 1024 * 1024;

type ConversationQuery = {
  readonly workspaceId: string;
  readonly previousId: string | undefined;
  /** The new input items, before references are resolved. */
  readonly input: readonly JsonObject[];
  readonly nowMs: number;
};

/** Returns the history followed by the new input, with every item reference resolved. */
export async function resolveConversation(
  store: VisibleResponses,
  query: ConversationQuery,
): Promise<readonly JsonObject[]> {
  const { workspaceId, previousId, input, nowMs } = query;
  const history = previousId === undefined ? [] : await loadHistory(store, workspaceId, previousId, nowMs);
  const ids = [...history, ...input].flatMap((item) => referenceOf(item) ?? []);
  if (ids.length === 0) return previousId === undefined ? input : [...history, ...input];
  if (ids.length > REFERENCES_MAX) throw tooManyReferencesFault(`must have at most ${REFERENCES_MAX} item references`);
  const found = await store.items(workspaceId, [...new Set(ids)], nowMs);
  if (found === undefined || referencedChars(found, ids) > REFERENCED_CHARS_MAX)
    throw tooManyReferencesFault("has item references that exceed the size limit of this gateway");
  const resolved = (item: JsonObject, missing: () => Fault): JsonObject => {
    const id = referenceOf(item);
    const target = id === undefined ? item : found.get(id);
    if (target === undefined) throw missing();
    return target;
  };
  return [
    // A deleted item inside the history counts as a deleted response.
    ...history.map((item) => resolved(item, () => previousNotFoundFault(previousId ?? ""))),
    ...input.map((item, at) => resolved(item, () => itemNotFoundFault(at, String(item["id"])))),
  ];
}

async function loadHistory(
  store: VisibleResponses,
  workspaceId: string,
  previousId: string,
  nowMs: number,
): Promise<readonly JsonObject[]> {
  const chain = await store.chain(workspaceId, previousId, nowMs);
  if (chain.is === "broken") throw previousNotFoundFault(previousId);
  if (chain.is === "too_long")
    throw invalidValue(
      "previous_response_id",
      "the conversation exceeds the size limit of this gateway. Start a new one with a summary of it",
    );
  const last = chain.links.at(-1);
  if (last?.status === "queued" || last?.status === "in_progress")
    throw invalidValue("previous_response_id", "that response is still in progress. Wait until it is completed");
  return chain.links.flatMap(({ input, response }) => [...input, ...outputItems(response)]);
}

function referencedChars(found: ReadonlyMap<string, JsonObject>, ids: readonly string[]): number {
  const sizes = new Map([...found].map(([id, item]) => [id, JSON.stringify(item).length]));
  return ids.reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0);
}

export function referenceOf(item: JsonObject): string | undefined {
  return item["type"] === "item_reference" && typeof item["id"] === "string" ? item["id"] : undefined;
}

function previousNotFoundFault(id: string): Fault {
  return fault("previous_response_not_found", {
    message: `There is no stored response with the id "${printable(id)}" to continue: it or an earlier one was never stored, was deleted, or has expired. Send the conversation as input instead.`,
    param: "previous_response_id",
  });
}

function tooManyReferencesFault(problem: string): Fault {
  return invalidValue("input", `${problem}. Send the items themselves`);
}

function itemNotFoundFault(at: number, id: string): Fault {
  return invalidValue(`input.${at}.id`, `there is no stored item "${printable(id)}". Send the item itself`);
}
