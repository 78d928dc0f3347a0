import type { Exchange, Reply } from "../exchange.ts";
import { ADDRESS_HEADER } from "./library.ts";

/** What the library reads of a call; nothing else of it gets that far. */
const HEADERS = [
  "accept",
  "content-type",
  "cookie",
  "host",
  "origin",
  "referer",
  "sec-fetch-dest",
  "sec-fetch-mode",
  "sec-fetch-site",
  "user-agent",
] as const;

/** The call as the library takes it, under the address that it knows itself by. */
export function requestOf(exchange: Exchange, path: string, base: string, fields: object | undefined): Request {
  const headers = new Headers({ [ADDRESS_HEADER]: exchange.clientAddress });
  for (const name of HEADERS) {
    const value = exchange.headers[name];
    if (typeof value === "string") headers.set(name, value);
  }
  const query = exchange.query.size === 0 ? "" : `?${exchange.query}`;
  const { method } = exchange.route;
  if (fields === undefined) return new Request(`${base}${path}${query}`, { method, headers });
  headers.set("content-type", "application/json");
  return new Request(`${base}${path}${query}`, { method, headers, body: JSON.stringify(fields) });
}

const KEPT = ["cache-control", "content-type", "location", "pragma"] as const;

export async function replyOf(response: Response): Promise<Reply> {
  const headers: Record<string, string> = { "cache-control": "no-store" };
  for (const name of KEPT) {
    const value = response.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers, cookies: response.headers.getSetCookie(), bytes };
}
