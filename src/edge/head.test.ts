import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EXPOSED } from "./cors.ts";
import { Answer } from "./head.ts";

type Case = {
  readonly status: number;
  readonly headers: object;
  readonly body?: string | Buffer;
  /** In the place of `GET / HTTP/1.1`. */
  readonly line?: string;
  readonly asks?: string;
  /** The connection ends with this answer, as its client knows. */
  readonly last?: true;
  readonly before?: (response: ServerResponse) => void;
};

const OURS = Object.fromEntries(EXPOSED.split(", ").map((name, at) => [name, `value ${at}`]));
const TYPED = { ...OURS, "content-type": "application/json", "cache-control": "no-cache" };
const WHOLE = { ...TYPED, "content-length": "5" };
const CASES: Readonly<Record<string, Case>> = {
  "a whole answer": { status: 200, headers: WHOLE, body: "whole" },
  "a whole answer in bytes": { status: 200, headers: WHOLE, body: Buffer.from("whole") },
  "an answer in pieces": { status: 200, headers: TYPED, body: "pieces" },
  "an answer without a body": { status: 200, headers: TYPED },
  "an answer without headers": { status: 200, headers: {}, body: "bare" },
  ...Object.fromEntries(
    [201, 204, 299, 304, 400, 401, 404, 413, 429, 500, 503, 529].map((status) => [
      `a status of ${status}`,
      { status, headers: TYPED, body: "x" },
    ]),
  ),
  "the answer to a HEAD": { status: 200, headers: WHOLE, line: "HEAD / HTTP/1.1" },
  "the answer to HTTP/1.0": { status: 200, headers: WHOLE, body: "whole", line: "GET / HTTP/1.0", last: true },
  "pieces for HTTP/1.0": { status: 200, headers: TYPED, body: "pieces", line: "GET / HTTP/1.0", last: true },
  "HTTP/1.0 that stays": {
    status: 200,
    headers: WHOLE,
    body: "whole",
    line: "GET / HTTP/1.0",
    asks: "connection: keep-alive\r\n",
  },
  "a client that goes": { status: 200, headers: WHOLE, body: "whole", asks: "connection: close\r\n", last: true },
  "a client that waits to send its body": {
    status: 200,
    headers: WHOLE,
    body: "whole",
    line: "POST / HTTP/1.1",
    asks: "expect: 100-continue\r\ncontent-length: 3\r\n",
    last: true,
  },
  "a server that stops": {
    status: 200,
    headers: WHOLE,
    body: "whole",
    before: (response) => {
      response.shouldKeepAlive = false;
    },
  },
  "a server that says that it stops": { status: 200, headers: { ...WHOLE, connection: "close" }, body: "whole" },
  "cookies that were set before": {
    status: 200,
    headers: WHOLE,
    body: "whole",
    before: (response) => response.setHeader("set-cookie", ["a=1", "b=2"]),
  },
  "names in other letters": { status: 200, headers: { "X-Svc-Model": "m", "Content-Length": "1" }, body: "x" },
  "a list of values": { status: 200, headers: { ...TYPED, "set-cookie": ["a=1", "b=2"] }, body: "x" },
  "a list of names and values": { status: 200, headers: ["x-svc-model", "m", "content-length", "1"], body: "x" },
  "headers that Node acts on": {
    status: 200,
    headers: { ...TYPED, date: "today", "transfer-encoding": "chunked", "keep-alive": "timeout=1", trailer: "x-end" },
    body: "x",
  },
  "the name of a file": {
    status: 200,
    headers: { ...WHOLE, "content-disposition": 'inline; filename="a.txt"' },
    body: "whole",
  },
  "a value in Latin letters": { status: 200, headers: { ...TYPED, "x-svc-model": "modèle" }, body: Buffer.from("x") },
  "a number": { status: 200, headers: { "x-svc-model": 5 }, body: "x" },
  "an empty value": { status: 200, headers: { "x-svc-model": "", "content-type": "a\tb" }, body: "x" },
};

const FORBIDDEN: readonly [string, string, object][] = [
  ["a new line in a value", "ERR_INVALID_CHAR", { "x-svc-model": "m\r\nset-cookie: a=1" }],
  ["a new line at the end of a value", "ERR_INVALID_CHAR", { "x-svc-model": "m\n" }],
  ["a return in a value", "ERR_INVALID_CHAR", { "content-type": "text/plain\rx" }],
  ["an end of text in a value", "ERR_INVALID_CHAR", { "x-request-id": "a\0b" }],
  ["a sign that deletes in a value", "ERR_INVALID_CHAR", { "x-request-id": "a\x7fb" }],
  ["a letter beyond Latin in a value", "ERR_INVALID_CHAR", { "x-svc-provider": "Ω" }],
  ["a new line in a length", "ERR_INVALID_CHAR", { "content-length": "5\r\nx: y" }],
  ["a new line in a name", "ERR_INVALID_HTTP_TOKEN", { "x-svc-model: m\r\nset-cookie": "a=1" }],
  ["a colon in a name", "ERR_INVALID_HTTP_TOKEN", { "x:y": "z" }],
  ["no name", "ERR_INVALID_HTTP_TOKEN", { "": "z" }],
  ["no value", "ERR_HTTP_INVALID_HEADER_VALUE", { "x-svc-model": undefined }],
];

/** What a handler sees of an answer whose head it has written. */
type Seen = readonly [headersSent: boolean, status: number, reason: string];
type Side = { readonly server: Server; given: Case; seen: Seen | undefined; refusal: unknown };

function sideOf(server: Server, requestsMax: number): Side {
  server.maxRequestsPerSocket = requestsMax;
  const side: Side = { server, given: { status: 200, headers: {} }, seen: undefined, refusal: undefined };
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === "/last") return void response.end("last");
    const { status, headers, body, before } = side.given;
    before?.(response);
    try {
      response.writeHead(status, headers as Record<string, string>);
    } catch (error) {
      side.refusal = error;
      side.seen = [response.headersSent, response.statusCode, response.statusMessage];
      return void response.socket?.end("refused");
    }
    side.seen = [response.headersSent, response.statusCode, response.statusMessage];
    if (body !== undefined && "content-length" in headers === false) response.write(body);
    response.end("content-length" in headers ? body : undefined);
  };
  server.on("request", answer);
  server.on("checkContinue", answer);
  return side;
}

/** All that comes back on a connection on which another request follows, unless it is closed before. */
function exchanged(side: Side, given: Case): Promise<string> {
  Object.assign(side, { given, seen: undefined, refusal: undefined });
  const address = side.server.address();
  const socket = connect(typeof address === "object" && address !== null ? address.port : 0, "127.0.0.1");
  const last = given.last === true ? "" : "GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
  // At once: what came after the end of a connection would reset it, and take away what is not yet read.
  socket.write(`${given.line ?? "GET / HTTP/1.1"}\r\nhost: x\r\n${given.asks ?? ""}\r\n${last}`);
  return new Promise((resolve, reject) => {
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (part) => {
      text += part;
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
  });
}

/** A head says the same in any order, and at any time. */
function sorted(text: string): string[] {
  return text.split("\r\n\r\n").map((part) => {
    const lines = part.replace(/^(Date: )\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/m, "$1now").split("\r\n");
    return lines.toSorted().join("\n");
  });
}

describe.each([0, 2])("a head that is put together here, with at most %i requests on a connection", (requestsMax) => {
  const ours = sideOf(createServer({ ServerResponse: Answer, keepAliveTimeout: 7_000 }), requestsMax);
  const theirs = sideOf(createServer({ keepAliveTimeout: 7_000 }), requestsMax);
  const listen = ({ server }: Side) => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  beforeAll(async () => void (await Promise.all([listen(ours), listen(theirs)])));
  afterAll(() => {
    for (const { server } of [ours, theirs]) server.close();
  });

  test.each(Object.entries(CASES))("is the one of Node: %s", async (_, given) => {
    const [here, there] = await Promise.all([exchanged(ours, given), exchanged(theirs, given)]);
    expect(sorted(here)).toEqual(sorted(there));
    expect(ours.seen).toEqual(theirs.seen);
    expect(ours.seen).toEqual([true, given.status, theirs.seen?.[2]]);
    expect(ours.refusal).toBeUndefined();
  });

  test.each(FORBIDDEN)("is refused as by Node, before a byte of it is sent: %s", async (_, code, headers) => {
    const given = { status: 200, headers: { ...WHOLE, ...headers }, body: "whole" };
    const [here, there] = await Promise.all([exchanged(ours, given), exchanged(theirs, given)]);
    expect([here, there]).toEqual(["refused", "refused"]);
    expect(ours.seen).toEqual([false, 200, "OK"]);
    expect(ours.refusal).toMatchObject({ code });
    expect(String(ours.refusal)).toBe(String(theirs.refusal));
  });

  test("is put together here: Node is only left what it acts on", async () => {
    const given = { status: 200, headers: { "content-length": "5", ...TYPED }, body: "whole" };
    const names = (text: string) => [...text.matchAll(/^([\w-]+): /gm)].map(([, name]) => name);
    const told = Object.keys(TYPED);
    expect(names(await exchanged(ours, given)).slice(0, told.length + 1)).toEqual([...told, "content-length"]);
    expect(names(await exchanged(theirs, given)).slice(0, told.length + 1)).toEqual(["content-length", ...told]);
  });
});
