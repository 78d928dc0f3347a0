import { invalidValue } from "../../contract/faults.ts";
import { sha256Hex } from "../../kit/secret.ts";
import type { Exchange } from "../exchange.ts";

export type Page<T> = { readonly data: readonly T[]; readonly next: string | null };

export type PageRequest = {
  /** Identifies the list: route, path and query without the paging parameters. */
  readonly list: string;
  readonly limit: number;
  readonly cursor: string | undefined;
};

/** A cursor names the last record of the page before and is valid only for the list it was created for. */
export function pageOf<T>(
  items: readonly T[],
  idOf: (item: T) => string,
  { list, limit, cursor }: PageRequest,
): Page<T> {
  const from = cursor === undefined ? 0 : indexAfter(items, idOf, cursorId(cursor, list));
  const data = items.slice(from, from + limit);
  const last = data.at(-1);
  const next = last !== undefined && from + limit < items.length ? writeCursor(list, idOf(last)) : null;
  return { data, next };
}

function indexAfter<T>(items: readonly T[], idOf: (item: T) => string, id: string): number {
  const index = items.findIndex((item) => idOf(item) === id);
  if (index < 0)
    throw invalidValue("cursor", "is outdated, because its record left the catalogue: start again without a cursor");
  return index + 1;
}

const PAGING = ["cursor", "limit", "after_id"];

/** The same for every page of one list. */
export function listKey({ route, params, query }: Exchange, paging: readonly string[] = PAGING): string {
  const rest = [...query].filter(([name]) => !paging.includes(name));
  return JSON.stringify([route.id, params, rest.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}

function listDigest(list: string): string {
  return sha256Hex(list).slice(0, 8);
}

function writeCursor(list: string, id: string): string {
  return Buffer.from(`${listDigest(list)}.${id}`).toString("base64url");
}

/** The id of the last record of the page before. */
export function cursorId(cursor: string, list: string): string {
  const [digest, ...id] = Buffer.from(cursor, "base64url").toString("utf8").split(".");
  if (digest === listDigest(list) && id.length > 0) return id.join(".");
  throw invalidValue("cursor", "must be `next` of the previous page, with the same path, filters and order");
}
