import type { OutgoingHttpHeaders } from "node:http";
import { ServerResponse } from "../kit/node-http.ts";
import { EXPOSED } from "./cors.ts";

/** Headers that mean nothing to Node: it only writes them down. */
const PLAIN: ReadonlySet<string> = new Set([...EXPOSED.split(", "), "content-type", "cache-control"]);
const ODD = /[^\t\x20-\x7e]/;

type Inner = { readonly _storeHeader: (this: unknown, above: string, headers: unknown) => void };
const { _storeHeader: writeDown } = ServerResponse.prototype as unknown as Inner;

/**
 * An answer whose head costs less. Node looks at every header by name and value, since it may be one to act on; an answer
 * of inference has fifteen that are not. Those are put behind the status line as they are, and Node is left the rest: a
 * name that is unknown here, or a value that is more than plain text, is checked and refused as ever. How the connection
 * goes on, how the body is sent and what has none stays with Node, too; one that no longer comes by here writes every
 * head by itself.
 */
export class Answer extends ServerResponse {
  protected _storeHeader(statusLine: string, headers: OutgoingHttpHeaders | readonly unknown[] | undefined): void {
    if (Array.isArray(headers)) return void writeDown.call(this, statusLine, headers);
    const named = headers as OutgoingHttpHeaders | undefined;
    const rest: OutgoingHttpHeaders = {};
    let above = statusLine;
    for (const name in named) {
      const value = named[name];
      // Lists, and what was set one by one.
      if (typeof value !== "string") return void writeDown.call(this, statusLine, headers);
      if (PLAIN.has(name) && !ODD.test(value)) above += `${name}: ${value}\r\n`;
      else rest[name] = value;
    }
    writeDown.call(this, above, rest);
  }
}
