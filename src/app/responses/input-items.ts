import type { z } from "zod";
import type { InputItemsQuery, ResponseItemList } from "../../contract/schemas/stored-responses.ts";
import { idOf, namedItems, outputOf } from "../../domain/responses/items.ts";
import type { StoredResponse } from "../../domain/responses/stored.ts";
import type { JsonObject } from "../../kit/json.ts";
import { invalidValue } from "../body.ts";
import { referenceOf } from "./conversation.ts";
import type { ResponsesDeps } from "./deps.ts";

type Query = z.output<typeof InputItemsQuery>;
type Item = z.output<typeof ResponseItemList>["data"][number];
type Deps = Pick<ResponsesDeps, "store" | "clock">;

/** One page of the items a response was made from. */
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

function placeOf(items: readonly Item[], param: "after" | "before", id: string): number {
  const place = items.findIndex((item) => item.id === id);
  if (place < 0) throw invalidValue(param, "there is no such item in this list");
  return place;
}

/** Oldest first: earlier turns with their answers, as far as they are still there, then its own input. */
async function itemsBehind({ store, clock }: Deps, stored: StoredResponse): Promise<Item[]> {
  const { workspaceId, id, previousId } = stored;
  const chain = previousId === null ? undefined : await store.chain(workspaceId, previousId, clock.nowMs());
  const before = chain === undefined || chain.is === "too_long" ? [] : chain.links;
  const items = [
    ...before.flatMap((link) => [...namedItems(link.id, link.input), ...outputOf(link.response)]),
    ...namedItems(id, stored.input),
  ];
  return items.map(shown);
}

/** What is meant in the place of references, as far as it is still there: they have the same ids. */
async function resolved({ store, clock }: Deps, workspaceId: string, items: readonly Item[]): Promise<Item[]> {
  const references = new Set(items.flatMap((item) => referenceOf(item) ?? []));
  if (references.size === 0) return [...items];
  const meant = await store.items(workspaceId, [...references], clock.nowMs());
  return items.map((item) => {
    const one = meant?.get(referenceOf(item) ?? "");
    return one === undefined ? item : shown(one);
  });
}

function shown(item: JsonObject): Item {
  const type = typeof item["type"] === "string" ? item["type"] : "message";
  const whole = { ...item, id: idOf(item) ?? "", type };
  const { role, content } = item;
  if (type !== "message" || typeof content !== "string") return whole;
  return { ...whole, content: [{ type: role === "assistant" ? "output_text" : "input_text", text: content }] };
}
