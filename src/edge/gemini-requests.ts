import type { InboundHttpRequest } from "../http1/server/fast-path-connection.ts";
import type { EdgeExchange } from "./edge-exchange.ts";
import { GEMINI_PREFIX } from "./edge-faults.ts";

const OTHER_VERSION = /^\/v1(?:alpha)?(\/models(?:\/.*)?)$/;
const OPERATION = /:[a-zA-Z]+$/;

/**
 * Google's newer clients use the API version v1, where the model list is in OpenAI's format. They are known by their headers;
 * an operation of a model is theirs in any case.
 */
export function geminiPath(path: string, { method, headers }: InboundHttpRequest): string {
  const [, rest] = OTHER_VERSION.exec(path) ?? [];
  if (rest === undefined) return path;
  const isGoogles = headers["x-goog-api-client"] !== undefined || headers["x-goog-api-key"] !== undefined;
  return isGoogles || (method === "POST" && OPERATION.test(path)) ? `/v1beta${rest}` : path;
}

/**
 * Older clients of the Gemini dialect send their key in the query. It becomes the header of these clients, which wins if both
 * are sent, so that nothing behind the edge sees it in a URL.
 */
export function takeKeyFromQuery(exchange: EdgeExchange, path: string): void {
  const query = new URLSearchParams(exchange.query);
  const key = query.get("key");
  if (key === null) return;
  query.delete("key");
  exchange.query = query.toString();
  // The other versions of these paths belong to OpenAI's dialect, too.
  if (!path.startsWith(GEMINI_PREFIX)) return;
  const { headers } = exchange.request;
  if (String(headers["x-goog-api-key"] ?? "").trim() === "") headers["x-goog-api-key"] = key;
}
