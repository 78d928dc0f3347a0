import type { z } from "zod";
import { invalidValue } from "../../contract/faults.ts";
import type { InputItemsQuery, ResponseItemList } from "../../contract/schemas/stored-responses.ts";
import { derivedItemId, itemIdOf, itemTypeOf, outputItems } from "../../domain/responses/response-items.ts";
import type { StoredResponse } from "../../domain/responses/response-store.ts";
import type { JsonObject } from "../../kit/json.ts";
import { referenceOf } from "./conversation.ts";
import type { ResponsesDeps } from "./responses-deps.ts";

type Query = z.output<typeof InputItemsQuery>;
type Item = z.output<typeof ResponseItemList>["data"][number];
/** An item with its id, which is unique within the list. */
type Listed = readonly [id: string, item: JsonObject];
type Deps = Pick<ResponsesDeps, "store" | "clock">;

/** Returns one page of the input items of a response, history included. */
export async function inputPage(
  deps: Deps,
  stored: StoredResponse,
  { limit, order, after, before }: Query,
): Promise<z.output<typeof ResponseItemList>> {
  const items = await itemsBehind(deps, stored);
  const ordered = order === "desc" ? items.toReversed() : items;
  const from = after === undefined ? 0 : placeOf(ordered, "after", after) + 1;
  const to = before === undefined ? ordered.length : placeOf(ordered, "before", before);
  const between = ordered.slice(from, to);
  const data = await resolved(deps, stored.workspaceId, between.slice(0, limit));
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: between.length > data.length,
  };
}

function placeOf(items: readonly Listed[], param: "after" | "before", id: string): number {
  const place = items.findIndex(([name]) => name === id);
  if (place < 0) throw invalidValue(param, "there is no such item in this list");
  return place;
}

/**
 * Oldest first: the remaining earlier turns with their output, then the response's own input. An item without an id, or
 * with a duplicate one, gets a generated id.
 */
async function itemsBehind({ store, clock }: Deps, stored: StoredResponse): Promise<Listed[]> {
  const { workspaceId, previousId } = stored;
  const chain = previousId === null ? undefined : await store.chain(workspaceId, previousId, clock.nowMs());
  const before = chain === undefined || chain.is === "too_long" ? [] : chain.links;
  const turns = [
    ...before.map(({ id, input, response }) => ({ id, items: [...input, ...outputItems(response)] })),
    { id: stored.id, items: stored.input },
  ];
  const listed = new Map<string, JsonObject>();
  for (const { id, items } of turns)
    for (const [place, item] of items.entries()) {
      const own = itemIdOf(item);
      listed.set(own === undefined || listed.has(own) ? derivedItemId(id, item, place) : own, item);
    }
  return [...listed];
}

/** Formats items for the API and resolves references whose target still exists. */
async function resolved({ store, clock }: Deps, workspaceId: string, items: readonly Listed[]): Promise<Item[]> {
  const references = new Set(items.flatMap(([, item]) => referenceOf(item) ?? []));
  const meant = references.size === 0 ? undefined : await store.items(workspaceId, [...references], clock.nowMs());
  return items.map(([id, item]) => shown(id, meant?.get(referenceOf(item) ?? "") ?? item));
}

function shown(id: string, item: JsonObject): Item {
  const type = itemTypeOf(item);
  const whole = { ...item, id, type };
  const { role, content } = item;
  if (type !== "message" || typeof content !== "string") return whole;
  return { ...whole, content: [{ type: role === "assistant" ? "output_text" : "input_text", text: content }] };
}
