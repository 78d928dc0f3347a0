import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EXPOSED } from "../../edge/cors.ts";
import { FastPath } from "./fast-path.ts";
import type { Outgoing } from "./server-message.ts";

type Case = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly pieces?: readonly (string | Buffer)[];
  readonly stops?: true;
};

const OURS = Object.fromEntries(EXPOSED.split(", ").map((name, at) => [name, `value ${at}`]));
const TYPED = { ...OURS, "content-type": "application/json", "cache-control": "no-cache" };
const WHOLE = { ...TYPED, "content-length": "5" };
const CASES: Readonly<Record<string, Case>> = {
  "a whole answer": { status: 200, headers: WHOLE, pieces: ["whole"] },
  "a whole answer in bytes": { status: 200, headers: WHOLE, pieces: [Buffer.from("whole")] },
  "a whole answer in letters of two bytes": { status: 200, headers: WHOLE, pieces: ["éé!"] },
  "an answer in pieces": { status: 200, headers: TYPED, pieces: ["one", Buffer.from("two"), "ß", Buffer.from("last")] },
  "a piece of nothing": { status: 200, headers: TYPED, pieces: ["one", "", Buffer.alloc(0), "two"] },
  "a piece of nothing at the begin": { status: 200, headers: TYPED, pieces: ["", "two"] },
  "pieces that are large": {
    status: 200,
    headers: TYPED,
    pieces: ["a".repeat(100_000), Buffer.alloc(300_000, "b"), Buffer.alloc(70_000, "c")],
  },
  "an answer without a body": { status: 200, headers: TYPED },
  "an answer without headers": { status: 200, headers: {}, pieces: ["bare"] },
  ...Object.fromEntries(
    [201, 204, 299, 304, 400, 401, 404, 413, 429, 500, 503, 529].map((status) => [
      `a status of ${status}`,
      { status, headers: TYPED, pieces: ["x"] },
    ]),
  ),
  "a server that stops": { status: 200, headers: WHOLE, pieces: ["whole"], stops: true },
  "a server that says that it stops": { status: 200, headers: { ...WHOLE, connection: "close" }, pieces: ["whole"] },
  "pieces of a server that stops": { status: 200, headers: TYPED, pieces: ["a", "b"], stops: true },
  "names in other letters": { status: 200, headers: { "X-Svc-Model": "m", "Content-Length": "1" }, pieces: ["x"] },
  "a list of values": { status: 200, headers: { ...TYPED, "set-cookie": ["a=1", "b=2"] }, pieces: ["x"] },
  "a value in Latin letters": { status: 200, headers: { ...TYPED, "x-svc-model": "modèle" }, pieces: ["é", "è"] },
  "Latin letters above bytes": { status: 200, headers: { ...TYPED, etag: "è" }, pieces: [Buffer.alloc(70_000, "x")] },
  "an empty value": { status: 200, headers: { "x-svc-model": "", "content-type": "a\tb" }, pieces: ["x"] },
};

const FORBIDDEN: readonly [string, string, Readonly<Record<string, unknown>>][] = [
  ["a new line in a value", "ERR_INVALID_CHAR", { "x-svc-model": "m\r\nset-cookie: a=1" }],
  ["a new line at the end of a value", "ERR_INVALID_CHAR", { "x-svc-model": "m\n" }],
  ["a new line in a list", "ERR_INVALID_CHAR", { "set-cookie": ["a=1", "b=2\r\nx: y"] }],
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

type Side = { readonly server: Server; given: Case; refusal: unknown };
const IDLE_MS = 7_000;

function answer(side: Side, outgoing: Outgoing): void {
  const { status, headers, pieces = [], stops } = side.given;
  if (stops === true) outgoing.shouldKeepAlive = false;
  try {
    outgoing.writeHead(status, headers);
  } catch (error) {
    side.refusal = error;
    return void outgoing.destroy();
  }
  const last = pieces.at(-1);
  for (const piece of pieces.slice(0, -1)) outgoing.write(piece);
  outgoing.end(last);
}

function sideOf(by: "lane" | "Node"): Side {
  const server = createServer({ keepAliveTimeout: IDLE_MS });
  const side: Side = { server, given: { status: 200, headers: {} }, refusal: undefined };
  if (by === "lane") {
    new FastPath(server, {
      clock: { nowMs: () => Date.now() },
      timeouts: { headersMs: 60_000, idleMs: IDLE_MS, checkEveryMs: 1_000 },
      onRequest: (_, outgoing) => answer(side, outgoing),
      onHeadersTimeout: () => undefined,
      onSocketTimeout: () => undefined,
      onRequestQueued: () => undefined,
      onRequestDequeued: () => undefined,
    });
    return side;
  }
  server.on("request", (request, response) => {
    request.resume();
    request.on("end", () => answer(side, response));
  });
  return side;
}

/** All that comes back on a connection, until it is closed or so many answers were whole. */
function exchanged(side: Side, given: Case): Promise<string> {
  Object.assign(side, { given, refusal: undefined });
  const { port } = side.server.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1");
  socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi");
  return new Promise((resolve, reject) => {
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (part) => {
      text += part;
      if (isWhole(text) && !/^connection: close/im.test(text)) socket.destroy();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
  });
}

function isWhole(text: string): boolean {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  if (rest.length === 0) return false;
  if (/^transfer-encoding/im.test(head)) return text.endsWith("\r\n0\r\n\r\n") || text.endsWith("\r\n\r\n0\r\n\r\n");
  const length = /^content-length: (\d+)/im.exec(head)?.[1] ?? "0";
  return rest.join("\r\n\r\n").length >= Number(length);
}

/** A head says the same in any order and in any letters, and at any time; a body in chunks of any size. */
function told(text: string): unknown {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const lines = head.replace(/^(Date: )\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/m, "$1now").split("\r\n");
  const known = lines.map((line) => line.replace(/^(connection|keep-alive|date):/i, (name) => name.toLowerCase()));
  const body = rest.join("\r\n\r\n");
  return { head: known.toSorted(), body: /^transfer-encoding/im.test(head) ? dechunked(body) : body };
}

function dechunked(text: string): string {
  let body = "";
  for (let at = 0; ; ) {
    const end = text.indexOf("\r\n", at);
    const size = text.slice(at, end);
    if (!/^[\da-f]+$/.test(size)) throw new Error(`there is no chunk at ${at}: ${text.slice(at, at + 20)}`);
    const start = end + 2;
    at = start + Number.parseInt(size, 16) + 2;
    if (text.slice(at - 2, at) !== "\r\n") throw new Error(`a chunk does not end at ${at}`);
    body += text.slice(start, at - 2);
    if (size === "0") return at === text.length ? body : `${body} and more`;
  }
}

describe("an answer that is written here", () => {
  const [ours, theirs] = [sideOf("lane"), sideOf("Node")];
  const listen = ({ server }: Side) => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  beforeAll(async () => void (await Promise.all([listen(ours), listen(theirs)])));
  afterAll(() => {
    for (const { server } of [ours, theirs]) server.close();
  });

  test.each(Object.entries(CASES))("ERR-01 is the one of Node: %s", async (_, given) => {
    const [here, there] = await Promise.all([exchanged(ours, given), exchanged(theirs, given)]);
    expect(told(here)).toEqual(told(there));
    expect(ours.refusal).toBeUndefined();
  });

  test.each(FORBIDDEN)("ERR-01 is refused as by Node, before a byte of it is sent: %s", async (_, code, headers) => {
    const given = { status: 200, headers: { ...WHOLE, ...headers } as Case["headers"], pieces: ["whole"] };
    const [here, there] = await Promise.all([exchanged(ours, given), exchanged(theirs, given)]);
    expect([here, there]).toEqual(["", ""]);
    expect(ours.refusal).toMatchObject({ code });
    expect(String(ours.refusal)).toBe(String(theirs.refusal));
  });

  test.each(["transfer-encoding", "Trailer", "date", "keep-alive"])("ERR-01 says %s by itself alone", async (name) => {
    expect(await exchanged(ours, { status: 200, headers: { ...WHOLE, [name]: "chunked" }, pieces: ["whole"] })).toBe(
      "",
    );
    expect(ours.refusal).toBeInstanceOf(TypeError);
  });
});
