import type { Exchange, Reply } from "../exchange.ts";
import { ADDRESS_HEADER } from "./auth-library.ts";

/** What the library reads of a call; nothing else of it gets that far. */
const HEADERS = [
  "accept",
  "content-type",
  "host",
  "origin",
  "referer",
  "sec-fetch-dest",
  "sec-fetch-mode",
  "sec-fetch-site",
  "user-agent",
] as const;

type Given = {
  /** Of the body; undefined: there is none. */
  readonly fields: object | undefined;
  readonly cookie: string;
};

/** The call as the library takes it, under the address that it knows itself by. */
export function requestOf(exchange: Exchange, path: string, base: string, { fields, cookie }: Given): Request {
  const headers = new Headers({ [ADDRESS_HEADER]: exchange.clientAddress });
  // One that is empty would have to come with an origin, which a program does not send.
  if (cookie !== "") headers.set("cookie", cookie);
  for (const name of HEADERS) {
    const value = exchange.headers[name];
    if (typeof value === "string") headers.set(name, value);
  }
  const { method } = exchange.route;
  if (fields === undefined) {
    const query = exchange.query.size === 0 ? "" : `?${exchange.query}`;
    return new Request(`${base}${path}${query}`, { method, headers });
  }
  headers.set("content-type", "application/json");
  return new Request(`${base}${path}`, { method, headers, body: JSON.stringify(fields) });
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
