import type { z } from "zod";
import { invalidValue } from "../../contract/faults.ts";
import type { InputItemsQuery, ResponseItemList } from "../../contract/schemas/stored-responses.ts";
import { derivedItemId, itemIdOf, itemTypeOf, outputItems } from "../../domain/responses/response-items.ts";
import type { StoredResponse } from "../../domain/responses/response-store.ts";
import type { JsonObject } from "../../kit/json.ts";
import { referenceOf } from "./conversation.ts";
import type { ResponsesDeps } from "./responses-deps.ts";
import type { VisibleResponses } from "./visible-responses.ts";

type InputItemsPage = z.output<typeof InputItemsQuery>;
type ListedItem = z.output<typeof ResponseItemList>["data"][number];
/** An item with its id, which is unique within the list. */
type IdentifiedItem = readonly [id: string, item: JsonObject];
type ItemListDeps = Pick<ResponsesDeps, "clock"> & { readonly store: VisibleResponses };

/** Returns one page of the input items of a response, history included. */
export async function listInputItems(
  deps: ItemListDeps,
  stored: StoredResponse,
  { limit, order, after, before }: InputItemsPage,
): Promise<z.output<typeof ResponseItemList>> {
  const items = await allInputItems(deps, stored);
  const ordered = order === "desc" ? items.toReversed() : items;
  const from = after === undefined ? 0 : indexOfItem(ordered, "after", after) + 1;
  const to = before === undefined ? ordered.length : indexOfItem(ordered, "before", before);
  const between = ordered.slice(from, to);
  const data = await resolveReferences(deps, stored.workspaceId, between.slice(0, limit));
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: between.length > data.length,
  };
}

function indexOfItem(items: readonly IdentifiedItem[], param: "after" | "before", id: string): number {
  const index = items.findIndex(([name]) => name === id);
  if (index < 0) throw invalidValue(param, "must be the id of an item in this list");
  return index;
}

/**
 * Oldest first: the remaining earlier turns with their output, then the response's own input. An item without an id, or
 * with a duplicate one, gets a generated id.
 */
async function allInputItems({ store, clock }: ItemListDeps, stored: StoredResponse): Promise<IdentifiedItem[]> {
  const { workspaceId, previousId } = stored;
  const chain = previousId === null ? undefined : await store.chain(workspaceId, previousId, clock.nowMs());
  const before = chain === undefined || chain.is === "too_long" ? [] : chain.links;
  const turns = [
    ...before.map(({ id, input, response }) => ({ id, items: [...input, ...outputItems(response)] })),
    { id: stored.id, items: stored.input },
  ];
  const listed = new Map<string, JsonObject>();
  for (const { id, items } of turns)
    for (const [index, item] of items.entries()) {
      const own = itemIdOf(item);
      listed.set(own === undefined || listed.has(own) ? derivedItemId(id, item, index) : own, item);
    }
  return [...listed];
}

/** Formats items for the API and resolves references whose target still exists. */
async function resolveReferences(
  { store, clock }: ItemListDeps,
  workspaceId: string,
  items: readonly IdentifiedItem[],
): Promise<ListedItem[]> {
  const references = new Set(items.flatMap(([, item]) => referenceOf(item) ?? []));
  const targets = references.size === 0 ? undefined : await store.items(workspaceId, [...references], clock.nowMs());
  return items.map(([id, item]) => formatItem(id, targets?.get(referenceOf(item) ?? "") ?? item));
}

function formatItem(id: string, item: JsonObject): ListedItem {
  const type = itemTypeOf(item);
  const identified = { ...item, id, type };
  const { role, content } = item;
  if (type !== "message" || typeof content !== "string") return identified;
  return { ...identified, content: [{ type: role === "assistant" ? "output_text" : "input_text", text: content }] };
}
