import type { IncomingHttpHeaders } from "node:http";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ResponseParser } from "./response-parser.ts";

const HEAD_BYTES_MAX = 1024;

type Heard = {
  status?: number;
  headers?: IncomingHttpHeaders;
  body: string;
  end?: "kept" | "spent" | "closed";
  fault?: string;
};

/** What is heard of an answer whose bytes come in these pieces; at the end the other side closes. */
function hear(pieces: readonly (Buffer | string)[]): Heard {
  const heard: Heard = { body: "" };
  const reader = new ResponseParser(
    {
      onHead: (status, headers) => Object.assign(heard, { status, headers }),
      onData(bytes) {
        heard.body += bytes.toString("latin1");
      },
      onEnd(connection) {
        heard.end = connection;
      },
    },
    HEAD_BYTES_MAX,
  );
  reader.expectResponse();
  try {
    // Each piece in memory of its own, as a connection reads it.
    for (const piece of pieces) if (heard.end === undefined) reader.read(Buffer.from(piece as string, "latin1"));
    reader.onRemoteClose();
  } catch (error) {
    heard.fault = error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
  return heard;
}

function cutAt(text: string, places: readonly number[]): string[] {
  const cuts = [...new Set(places.map((place) => place % text.length))].toSorted((a, b) => a - b);
  return [0, ...cuts].map((from, index) => text.slice(from, cuts[index]));
}

const CHUNKED = [
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
  '6\r\ndata: \r\nA;a=b;c="d"\r\n0123456789\r\n00c \r\n hello world\r\n0\r\nX-Trailer: yes\r\n\r\n',
].join("");
const LENGTH =
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello";
const UNTIL_CLOSE = "HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\n\r\nas long as it lasts";

describe("an answer", () => {
  test.each([
    ["chunked", CHUNKED, { status: 200, body: "data: 0123456789 hello world", end: "kept" }],
    ["of a length, behind heads that say to wait", LENGTH, { status: 200, body: "hello", end: "kept" }],
    ["until the connection closes", UNTIL_CLOSE, { status: 200, body: "as long as it lasts", end: "spent" }],
  ])("CHAT-08 %s is heard the same wherever its bytes are cut", (_name, text, expected) => {
    expect(hear([text])).toMatchObject(expected);
    expect(hear([...text])).toEqual(hear([text]));
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 12 }), (places) => {
        expect(hear(cutAt(text, places))).toEqual(hear([text]));
      }),
    );
  });

  test("CHAT-08 chunks that come together are one piece", () => {
    const pieces: string[] = [];
    const reader = new ResponseParser(
      { onHead() {}, onData: (bytes) => void pieces.push(bytes.toString()), onEnd() {} },
      HEAD_BYTES_MAX,
    );
    reader.expectResponse();
    reader.read(Buffer.from(CHUNKED));
    expect(pieces).toEqual(["data: 0123456789 hello world"]);
  });

  test("its headers are read by name in lower case, without the space around them; of several one list is made", () => {
    const head = [
      "HTTP/1.1 429 Too Many",
      "Retry-After:  7 \t",
      "X-A: 1",
      "x-a:2",
      "Empty:",
      "Set-Cookie: a",
      "Set-Cookie: b",
      "__proto__: no",
      "Content-Length: 0",
    ].join("\r\n");
    const { status, headers, end } = hear([`${head}\r\n\r\n`]);
    expect({ status, end }).toEqual({ status: 429, end: "kept" });
    expect(headers).toEqual({
      "retry-after": "7",
      "x-a": "1, 2",
      empty: "",
      "set-cookie": ["a", "b"],
      "content-length": "0",
    });
  });

  test.each([
    ["204", "HTTP/1.1 204 No Content\r\n\r\n", "kept"],
    ["304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", "kept"],
    ["that is empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "kept"],
    ["that says so", "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n", "spent"],
    ["of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "spent"],
    ["with bytes behind it", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK", "spent"],
    ["with bytes behind its chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nmore", "spent"],
  ])("an answer %s leaves the connection %s", (_name, text, connection) => {
    expect(hear([text])).toMatchObject({ body: "", end: connection });
  });

  test.each([
    ["no HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n"],
    ["another version", "HTTP/2.0 200 OK\r\n\r\n"],
    ["no status", "HTTP/1.1 OK\r\n\r\n"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
    ["another protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"],
    ["a header without a colon", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"],
    ["a header without a name", "HTTP/1.1 200 OK\r\n: x\r\n\r\n"],
    ["a name with a space", "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello"],
    ["a header that goes on in the next line", "HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\n\r\n"],
    ["a line that ends by one character", "HTTP/1.1 200 OK\r\nX-A: 1\nContent-Length: 5\r\n\r\nhello"],
    ["a control character", "HTTP/1.1 200 OK\r\nX-A: \0\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello"],
    ["a list of lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello"],
    ["a length with a sign", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello"],
    ["a length behind a space that is none in HTTP", "HTTP/1.1 200 OK\r\nContent-Length: \xa05\r\n\r\nhello"],
    ["a coding before such a space", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\xa0\r\n\r\n0\r\n\r\n"],
    ["a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"],
    ["a length beyond counting", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999\r\n\r\nhello"],
    ["a length and chunks", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["another coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
    ["chunks twice", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
  ])("ERR-07 %s is no answer", (_name, text) => {
    expect(hear([text])).toEqual({ body: "", fault: "HTTP_BAD_ANSWER" });
    expect(hear([...text])).toEqual({ body: "", fault: "HTTP_BAD_ANSWER" });
  });

  test.each([
    ["no size", "\r\nhello\r\n"],
    ["a size that is no number", "xyz\r\nhello\r\n"],
    ["a size with a sign", "-5\r\nhello\r\n"],
    ["a size of another notation", "0x5\r\nhello\r\n"],
    ["a size beyond counting", "fffffffffffffffff\r\nhello\r\n"],
    ["a size line that ends by one character", "5\nhello\r\n"],
    ["a line break inside an extension", "5;a\nb\r\nhello\r\n"],
    ["an extension without end", `5;${"a".repeat(20_000)}`],
    ["a chunk longer than it says", "4\r\nhello\r\n"],
    ["a chunk that ends by one character", "5\r\nhello\n5\r\n"],
    ["trailers without end", `0\r\n${"a: b\r\n".repeat(4_000)}`],
    ["a trailer with a bare line break", "0\r\na: b\nc: d\r\n\r\n"],
  ])("ERR-07 %s is no chunk, and what came before it is heard", (_name, text) => {
    const whole = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n${text}`;
    const { status, body, fault } = hear([whole]);
    expect({ status, begins: body.slice(0, 3), fault }).toEqual({
      status: 200,
      begins: "yes",
      fault: "HTTP_BAD_ANSWER",
    });
    expect(hear([...whole])).toEqual(hear([whole]));
  });

  test.each([
    ["nothing at all", ""],
    ["half a head", "HTTP/1.1 200 OK\r\nContent-Le"],
    ["a head that says to wait", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["less than its length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"],
    ["no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"],
    ["no end of its last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"],
  ])("ERR-07 %s before the connection closes is an answer cut off", (_name, text) => {
    expect(hear([text]).fault).toBe("HTTP_CUT_OFF");
  });

  test("ERR-07 a head has a largest size, whole or not, in one piece or many", () => {
    const fitting = `HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ${"a".repeat(HEAD_BYTES_MAX - 39)}`;
    expect(hear([`${fitting}\r\n\r\n`])).toMatchObject({ status: 200, end: "kept" });
    for (const text of [`${fitting}a\r\n\r\n`, `${fitting}${"a".repeat(50)}`, "x".repeat(5_000)]) {
      expect(hear([text]).fault).toBe("HTTP_HEAD_TOO_LARGE");
      expect(hear([...text]).fault).toBe("HTTP_HEAD_TOO_LARGE");
    }
  });

  test("LOG-02 bytes that nobody asked for answer nothing", () => {
    const never = () => expect.fail("something was heard");
    const reader = new ResponseParser({ onHead: never, onData: never, onEnd: never }, HEAD_BYTES_MAX);
    expect(() => reader.read(Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))).toThrow("HTTP_BAD_ANSWER");
  });

  test("whoever ends a call at its head, or at a piece, hears no more of it", () => {
    for (const at of ["head", "piece"] as const) {
      const heard: string[] = [];
      const reader: ResponseParser = new ResponseParser(
        {
          onHead() {
            heard.push("head");
            if (at === "head") reader.stop();
          },
          onData() {
            heard.push("piece");
            if (at === "piece") reader.stop();
          },
          onEnd: () => void heard.push("end"),
        },
        HEAD_BYTES_MAX,
      );
      reader.expectResponse();
      reader.read(Buffer.from(CHUNKED));
      expect(heard).toEqual(at === "head" ? ["head"] : ["head", "piece"]);
    }
  });
});
