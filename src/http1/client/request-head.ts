import { INVALID_HEADER_VALUE_CHAR, parseHeaderName } from "../header-name.ts";
import { HttpFault } from "./http-fault.ts";

export type RequestHeadFields = {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: the request has no body. */
  readonly bodyBytes: number | undefined;
};

const NOT_ASCII = /[^\t\x20-\x7e]/;

/** Headers that only the connection may set: they decide where a message ends. */
const CONNECTION_OWNED_HEADERS: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "expect",
  "upgrade",
  "keep-alive",
]);

export type SerializedHead = {
  readonly text: string;
  /** An ASCII head has the same bytes in UTF-8 as in Latin-1, so it is written together with a UTF-8 body. */
  readonly isAscii: boolean;
};

/** Throws on a header that could be parsed as more than one header, or as the start of another request. */
export function serializeRequestHead({ method, path, host, headers, bodyBytes }: RequestHeadFields): SerializedHead {
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  let isAscii = true;
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined) continue;
    const lowerName = parseHeaderName(name);
    if (lowerName === undefined || CONNECTION_OWNED_HEADERS.has(lowerName)) throw new HttpFault("HTTP_BAD_HEADER");
    if (NOT_ASCII.test(value)) {
      if (INVALID_HEADER_VALUE_CHAR.test(value)) throw new HttpFault("HTTP_BAD_HEADER");
      isAscii = false;
    }
    text += `${name}: ${value}\r\n`;
  }
  return { text: bodyBytes === undefined ? `${text}\r\n` : `${text}content-length: ${bodyBytes}\r\n\r\n`, isAscii };
}
