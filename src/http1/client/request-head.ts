import { INVALID_HEADER_VALUE_CHAR, parseHeaderName } from "../header-name.ts";
import { HttpFault } from "./http-fault.ts";

export type RequestHeadFields = {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: it has no body. */
  readonly bodyBytes: number | undefined;
};

const NOT_ASCII = /[^\t\x20-\x7e]/;

/** What is for the connection to say. */
const CONNECTION_OWNED_HEADERS: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "expect",
  "upgrade",
  "keep-alive",
]);

/** The text before a body. */
export type SerializedHead = {
  readonly text: string;
  /** Of one byte for each character in UTF-8, too, so that a text behind it can be written together with it. */
  readonly isAscii: boolean;
};

/** A name or a value that would not be one header is refused: it could be the next request. */
export function serializeRequestHead({ method, path, host, headers, bodyBytes }: RequestHeadFields): SerializedHead {
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  let isAscii = true;
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined) continue;
    const lower = parseHeaderName(name);
    if (lower === undefined || CONNECTION_OWNED_HEADERS.has(lower)) throw new HttpFault("HTTP_BAD_HEADER");
    if (NOT_ASCII.test(value)) {
      if (INVALID_HEADER_VALUE_CHAR.test(value)) throw new HttpFault("HTTP_BAD_HEADER");
      isAscii = false;
    }
    text += `${name}: ${value}\r\n`;
  }
  return { text: bodyBytes === undefined ? `${text}\r\n` : `${text}content-length: ${bodyBytes}\r\n\r\n`, isAscii };
}
