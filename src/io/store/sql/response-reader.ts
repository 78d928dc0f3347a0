import { type Kysely, sql } from "kysely";
import {
  derivedItemId,
  itemIdOf,
  itemTypeOf,
  outputItems,
  responseIdOfItem,
} from "../../../domain/responses/response-items.ts";
import type { ResponseChain, ResponseStore, StoredResponse } from "../../../domain/responses/response-store.ts";
import type { JsonObject } from "../../../kit/json.ts";
import { decodeCursor, pageSize, slicePage } from "./keyset-page.ts";
import type { Database } from "./schema.ts";
import { type SealedRows, SUMMARY, toSummary } from "./sealed-rows.ts";

/** Longer conversations are refused. */
const CHAIN_LINKS_MAX = 1000;
const CHAIN_BYTES_MAX = 64 * 1024 * 1024;
/** Event rows per read. */
const EVENT_BATCHES_MAX = 8;

type ReadOperations = Pick<ResponseStore, "find" | "chain" | "items" | "events" | "list" | "unfinished" | "activeRuns">;

export function responseReader(db: Kysely<Database>, rows: SealedRows): ReadOperations {
  const readable = (workspaceId: string, nowMs: number) =>
    db.selectFrom("stored_responses").where("workspace_id", "=", workspaceId).where("expires_at_ms", ">", nowMs);
  const find: ReadOperations["find"] = async (workspaceId, id, nowMs) => {
    const row = await readable(workspaceId, nowMs).selectAll().where("id", "=", id).executeTakeFirst();
    return row === undefined ? undefined : rows.read(row);
  };
  return {
    find,
    chain: (workspaceId, id, nowMs, mayRead = () => true) =>
      readChain(db, { workspaceId, id, nowMs, mayRead }, (link) => find(workspaceId, link, nowMs)),

    async items(workspaceId, ids, nowMs, mayRead = () => true) {
      const owners = await findOwners(db, { workspaceId, ids, mayRead });
      if (owners === undefined) return undefined;
      const requestedIds = new Set(ids);
      const found = new Map<string, JsonObject>();
      for (const owner of owners) {
        const stored = await find(workspaceId, owner, nowMs);
        if (stored === undefined || !mayRead(stored.keyId)) continue;
        for (const [cursorPosition, item] of [...stored.input, ...outputItems(stored.response)].entries()) {
          // A reference is not the item itself.
          if (item["type"] === "item_reference") continue;
          for (const id of [itemIdOf(item), derivedItemId(owner, item, cursorPosition)])
            if (id !== undefined && requestedIds.has(id)) found.set(id, { ...item, type: itemTypeOf(item), id });
        }
      }
      return found;
    },

    async events(workspaceId, id, after) {
      const found = await db
        .selectFrom("stored_events")
        .selectAll()
        .where("response_id", "=", id)
        .where("last_number", ">", after)
        .orderBy("first_number")
        .limit(EVENT_BATCHES_MAX)
        .execute();
      const batches = await Promise.all(found.map((row) => rows.readEvents({ workspaceId, id }, row)));
      return batches.flat().filter(({ sequence }) => sequence > after);
    },

    async list(workspaceId, nowMs, limit, cursor) {
      const size = pageSize(limit);
      const cursorPosition = cursor === null ? undefined : decodeCursor(cursor);
      let query = readable(workspaceId, nowMs).select(SUMMARY).orderBy("created_at_ms", "desc").orderBy("id", "desc");
      if (cursorPosition !== undefined)
        query = query.where(({ eb, refTuple, tuple }) =>
          eb(refTuple("created_at_ms", "id"), "<", tuple(cursorPosition.atMs, cursorPosition.id)),
        );
      const found = await query.limit(size + 1).execute();
      const { page, next } = slicePage(found, size, (row) => ({ atMs: row.created_at_ms, id: row.id }));
      return { rows: page.map(toSummary), next };
    },

    async unfinished() {
      const found = await db
        .selectFrom("stored_responses")
        .select([...SUMMARY, "request", "answering", "ending", "called_off"])
        .where("status", "in", ["queued", "in_progress"])
        .orderBy("created_at_ms")
        .execute();
      return Promise.all(found.map((row) => rows.readUnfinished(row)));
    },

    async activeRuns() {
      const found = await db
        .selectFrom("stored_responses")
        .select(["id", "runs"])
        .where("status", "in", ["queued", "in_progress"])
        .where("called_off", "=", 0)
        .execute();
      return new Map(found.map(({ id, runs }) => [id, runs]));
    },
  };
}

type MayRead = (keyId: string) => boolean;
type ItemQuery = { readonly workspaceId: string; readonly ids: readonly string[]; readonly mayRead: MayRead };

/**
 * The readable responses that contain the items: output items by index, input items by their generated id. Undefined when
 * there are too many; responses that may not be read count like unknown ones.
 */
async function findOwners(
  db: Kysely<Database>,
  { workspaceId, ids, mayRead }: ItemQuery,
): Promise<readonly string[] | undefined> {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom("stored_items")
    .innerJoin("stored_responses", "stored_responses.id", "stored_items.response_id")
    .select(["stored_items.response_id", "stored_responses.key_id"])
    .where("stored_items.workspace_id", "=", workspaceId)
    .where("stored_items.id", "in", ids)
    .execute();
  const named = rows.filter((row) => mayRead(row.key_id)).map((row) => row.response_id);
  const owners = [...new Set([...named, ...ids.flatMap((id) => responseIdOfItem(id) ?? [])])];
  if (owners.length === 0) return owners;
  if (owners.length > CHAIN_LINKS_MAX) return undefined;
  const sizes = await db
    .selectFrom("stored_responses")
    .select(["id", "key_id", sql<number>`length(response) + length(input)`.as("bytes")])
    .where("workspace_id", "=", workspaceId)
    .where("id", "in", owners)
    .execute();
  const readable = sizes.filter((row) => mayRead(row.key_id));
  return readable.reduce((sum, { bytes }) => sum + bytes, 0) > CHAIN_BYTES_MAX
    ? undefined
    : readable.map(({ id }) => id);
}

type ChainStart = {
  readonly workspaceId: string;
  readonly id: string;
  readonly nowMs: number;
  readonly mayRead: MayRead;
};

/** From the newest link back to the first; sizes are checked before contents are read. */
async function readChain(
  db: Kysely<Database>,
  { workspaceId, id, nowMs, mayRead }: ChainStart,
  find: (id: string) => Promise<StoredResponse | undefined>,
): Promise<ResponseChain> {
  const { rows: all } = await sql<{ id: string; key_id: string; bytes: number }>`
    with recursive chain (id, previous_id, depth) as (
      select id, previous_id, 0 from stored_responses
      where id = ${id} and workspace_id = ${workspaceId} and expires_at_ms > ${nowMs}
      union all
      select older.id, older.previous_id, chain.depth + 1
      from chain join stored_responses as older on older.id = chain.previous_id
      where older.workspace_id = ${workspaceId} and older.expires_at_ms > ${nowMs} and chain.depth < ${CHAIN_LINKS_MAX}
    )
    select chain.id, stored.key_id, length(stored.response) + length(stored.input) as bytes
    from chain join stored_responses as stored on stored.id = chain.id order by chain.depth desc`.execute(db);
  // A response that may not be read ends the conversation like a deleted one.
  const rows = all.slice(all.findLastIndex((row) => !mayRead(row.key_id)) + 1);
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  if (rows.length > CHAIN_LINKS_MAX || bytes > CHAIN_BYTES_MAX) return { is: "too_long" };
  const links: StoredResponse[] = [];
  for (const row of rows) {
    const link = await find(row.id);
    // Deleted meanwhile: older links no longer belong to the conversation.
    if (link === undefined) links.length = 0;
    else links.push(link);
  }
  const first = links[0];
  return { is: first === undefined || first.previousId !== null ? "broken" : "whole", links };
}
