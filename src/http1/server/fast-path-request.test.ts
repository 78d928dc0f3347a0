import { createServer, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseFastPathRequest } from "./fast-path-request.ts";

const BODY = '{"model":"m","messages":[]}';
const LENGTH = `Content-Length: ${BODY.length}`;
const posted = (lines: readonly string[], body = BODY) =>
  Buffer.from(`${["POST /v1/chat/completions HTTP/1.1", ...lines].join("\r\n")}\r\n\r\n${body}`, "latin1");

const PLAIN: Readonly<Record<string, Buffer>> = {
  "few headers": posted(["Host: a", LENGTH]),
  "no body": posted(["Host: a", "Content-Length: 0"], ""),
  "a client in JavaScript": posted([
    "Host: gateway.example:8080",
    "Accept: application/json",
    "Content-Type: application/json",
    "User-Agent: OpenAI/JS 6.2.0",
    "X-Stainless-Retry-Count: 0",
    "X-Stainless-OS: Linux",
    "Authorization: Bearer key",
    "accept-language: *",
    "Connection: keep-alive",
    LENGTH,
  ]),
  "names in any letters": posted([
    "hOsT: a",
    "x-API-key: k",
    `CONTENT-length: ${BODY.length}`,
    "CONNECTION: Keep-Alive",
  ]),
  "space around values": posted(["Host:a", "x-one:   1  ", "x-two:\t2 \t", "x-none:", "x-space:  ", LENGTH]),
  "signs in a name": posted(["Host: a", "!#$%&'*+-.^_`|~09azAZ: x", LENGTH]),
  "signs in a value": posted(["Host: a", `x-signs: "(),/:;<=>?@[\\]{}!#$%&'*+-.^_\`|~`, LENGTH]),
  "a query": Buffer.from(`POST /v1/x/y.z~-_?a=b&c=%20+d:e,f@g HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\n${BODY}`),
  "a body in other letters": Buffer.from(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nßÖ`),
  "a body like a head": posted(["Host: a", "Content-Length: 18"], "\r\n\r\nGET / HTTP/1.1"),
};

const OTHERS: Readonly<Record<string, Buffer>> = {
  nothing: Buffer.alloc(0),
  "another method": Buffer.from("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
  "a method in small letters": Buffer.from(`post / HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\n${BODY}`),
  "another version": Buffer.from(`POST / HTTP/1.0\r\nHost: a\r\n${LENGTH}\r\n\r\n${BODY}`),
  "a whole address": Buffer.from(`POST http://a/v1 HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\n${BODY}`),
  "two spaces": Buffer.from(`POST  / HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\n${BODY}`),
  "an empty line before it": Buffer.from(`\r\nPOST / HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\n${BODY}`),
  "a head that is not whole": posted(["Host: a", LENGTH]).subarray(0, 60),
  "a body that is not whole": posted(["Host: a", LENGTH], BODY.slice(1)),
  "more than the body": posted(["Host: a", LENGTH], `${BODY}x`),
  "another request behind it": Buffer.concat([posted(["Host: a", LENGTH]), posted(["Host: a", LENGTH])]),
  "no length": posted(["Host: a"], ""),
  "two lengths": posted(["Host: a", LENGTH, LENGTH]),
  "two lengths in one": posted(["Host: a", `Content-Length: ${BODY.length}, ${BODY.length}`]),
  "a length with a sign": posted(["Host: a", `Content-Length: +${BODY.length}`]),
  "a length with a zero before it": posted(["Host: a", `Content-Length: 0${BODY.length}`]),
  "a length in other digits": posted(["Host: a", "Content-Length: 0x1b"]),
  "a length of nothing": posted(["Host: a", "Content-Length:"], ""),
  chunks: posted(["Host: a", "Transfer-Encoding: chunked"], "0\r\n\r\n"),
  "chunks beside a length": posted(["Host: a", LENGTH, "transfer-encoding: chunked"]),
  "an expectation": posted(["Host: a", LENGTH, "Expect: 100-continue"]),
  "an upgrade": posted(["Host: a", LENGTH, "Upgrade: websocket"]),
  "a trailer": posted(["Host: a", LENGTH, "Trailer: x"]),
  "a connection that ends": posted(["Host: a", LENGTH, "Connection: close"]),
  "a connection that is more": posted(["Host: a", LENGTH, "Connection: keep-alive, upgrade"]),
  "a connection of a proxy": posted(["Host: a", LENGTH, "Proxy-Connection: close"]),
  "no host": posted([LENGTH]),
  "a header twice": posted(["Host: a", LENGTH, "x-a: 1", "X-A: 2"]),
  "an empty header twice": posted(["Host: a", LENGTH, "x-a:", "x-a: 2"]),
  "a host twice": posted(["Host: a", "Host: b", LENGTH]),
  "a line that goes on": posted(["Host: a", "x-a: 1", " 2", LENGTH]),
  "space before a colon": posted(["Host: a", "x-a : 1", LENGTH]),
  "no name": posted(["Host: a", ": 1", LENGTH]),
  "no colon": posted(["Host: a", "x-a", LENGTH]),
  "no colon, and one in the line behind": posted(["Host: a", "x-a", "x-b: 1", LENGTH]),
  "a line break of one sign": posted(["Host: a\nx-a: 1", LENGTH]),
  "a return of one sign": posted(["Host: a\rx-a: 1", LENGTH]),
  "an end of text": posted(["Host: a", "x-a: \0", LENGTH]),
  "a sign that deletes": posted(["Host: a", "x-a: \x7f", LENGTH]),
  "other letters in a value": posted(["Host: a", "x-a: \xe9", LENGTH]),
  "other letters in a name": posted(["Host: a", "x-\xe9: a", LENGTH]),
  "other letters in the address": Buffer.from(`POST /\xe9 HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\n${BODY}`, "latin1"),
  "a name that objects have": posted(["Host: a", "__proto__: x", LENGTH]),
  "another name that objects have": posted(["Host: a", "constructor: x", LENGTH]),
  "a cookie that is set": posted(["Host: a", "Set-Cookie: a=1", LENGTH]),
  "very many headers": posted(["Host: a", ...Array.from({ length: 120 }, (_, at) => `x-${at}: ${at}`), LENGTH]),
  "a very long head": posted(["Host: a", `x-long: ${"x".repeat(17_000)}`, LENGTH]),
};

type Read = { readonly url?: string | undefined; readonly headers: IncomingHttpHeaders; readonly body: string };

/** What Node's own server makes of the same bytes. */
const node = createServer({ requireHostHeader: false }, (request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const { method, httpVersion, url, headers } = request;
    const body = Buffer.concat(parts).toString("base64");
    response.setHeader("connection", "close");
    response.end(JSON.stringify({ method, httpVersion, url, headers, body }));
  });
});
beforeAll(() => new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve)));
afterAll(() => node.close());

function readByNode(bytes: Buffer): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = connect((node.address() as AddressInfo).port, "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (part) => {
      text += part;
    });
    socket.on("error", reject);
    socket.on("close", () => {
      const answer = text.split("\r\n\r\n")[1] ?? "";
      resolve(text.startsWith("HTTP/1.1 200") ? JSON.parse(answer) : text);
    });
    socket.write(bytes);
  });
}

function readHere(bytes: Buffer): Read | undefined {
  const plain = parseFastPathRequest(bytes);
  return plain === undefined ? undefined : { ...plain.head, body: plain.body.toString("base64") };
}

const AS_NODE_SAYS = { method: "POST", httpVersion: "1.1" };

describe("a plain request", () => {
  test.each(Object.entries(PLAIN))("ERR-01 is read here as Node reads it: %s", async (_, bytes) => {
    const read = readHere(bytes);
    expect(read).toBeDefined();
    expect(await readByNode(bytes)).toEqual({ ...AS_NODE_SAYS, ...read });
  });

  test.each(Object.entries(OTHERS))("ERR-01 is none, and left to Node: %s", (_, bytes) => {
    expect(readHere(bytes)).toBeUndefined();
  });

  test.each(Object.entries(PLAIN))("ERR-01 is none as long as a byte is missing: %s", (_, bytes) => {
    for (let end = 0; end < bytes.length; end++) expect(readHere(bytes.subarray(0, end))).toBeUndefined();
  });

  test("ERR-01 whatever is changed in it is read as by Node, or not at all", async () => {
    const random = randomOf(20_261);
    const [plain, others] = [Object.values(PLAIN), Object.values(OTHERS)];
    let [taken, left] = [0, 0];
    for (let round = 0; round < 4_000; round++) {
      const samples = random() < 0.8 ? plain : others;
      const bytes = changed(samples[Math.floor(random() * samples.length)] ?? Buffer.alloc(0), random);
      const read = readHere(bytes);
      if (read === undefined) {
        left += 1;
        continue;
      }
      taken += 1;
      expect(await readByNode(bytes), bytes.toString("latin1")).toEqual({ ...AS_NODE_SAYS, ...read });
    }
    // Neither is everything refused here, nor everything read.
    expect(Math.min(taken, left)).toBeGreaterThan(200);
  });
});

const INSERTED = [
  "\r",
  "\n",
  "\r\n",
  " ",
  "\t",
  ":",
  "\0",
  "x",
  "0",
  ",",
  "\x80",
  "\r\n\r\n",
  "\r\nx-a: 1",
  "\r\n ",
  ";",
];

/** One to three places of it are other than they were, most of them in its head. */
function changed(bytes: Buffer, random: () => number): Buffer {
  let text = bytes.toString("latin1");
  for (let left = 1 + Math.floor(random() * 3); left > 0; left--) {
    const at = Math.floor(random() * Math.min(text.length, 400));
    const piece = INSERTED[Math.floor(random() * INSERTED.length)] ?? "";
    const kind = random();
    if (kind < 0.4) text = text.slice(0, at) + piece + text.slice(at);
    else if (kind < 0.6) text = text.slice(0, at) + text.slice(at + 1);
    else if (kind < 0.8)
      text = text.slice(0, at) + String.fromCharCode(Math.floor(random() * 256)) + text.slice(at + 1);
    else text = text.slice(0, at) + text.slice(at, at + 1).toUpperCase() + text.slice(at + 1);
  }
  return Buffer.from(text, "latin1");
}

/** Numbers that look like chance, and are the same in every run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
