import type { IncomingHttpHeaders } from "node:http";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ResponseParser } from "../client/response-parser.ts";

const HEAD_BYTES_MAX = 1024;

type ParsedResponse = {
  status?: number;
  headers?: IncomingHttpHeaders;
  body: string;
  end?: "reusable" | "exhausted" | "closed";
  fault?: string;
  /** Bytes that belong to no response were reported. */
  hasUnsolicited?: true;
};

/** Parses a response that arrives in these segments, after which the server closes the connection. */
function parseSegments(segments: readonly (Buffer | string)[]): ParsedResponse {
  const parsed: ParsedResponse = { body: "" };
  const parser = new ResponseParser(
    {
      onHead: (status, headers) => Object.assign(parsed, { status, headers }),
      onData(bytes) {
        parsed.body += bytes.toString("latin1");
      },
      onEnd(connection) {
        parsed.end = connection;
      },
      onUnsolicitedBytes() {
        parsed.hasUnsolicited = true;
      },
    },
    HEAD_BYTES_MAX,
  );
  parser.expectResponse();
  try {
    // A fresh buffer for each segment, as the connection allocates it: the decoder moves bytes in place.
    for (const segment of segments)
      if (parsed.end === undefined) parser.parse(Buffer.from(segment as string, "latin1"));
    parser.onRemoteClose();
  } catch (error) {
    parsed.fault = error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
  return parsed;
}

function splitAt(text: string, offsets: readonly number[]): string[] {
  const cuts = [...new Set(offsets.map((offset) => offset % text.length))].toSorted((a, b) => a - b);
  return [0, ...cuts].map((from, index) => text.slice(from, cuts[index]));
}

const CHUNKED = [
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
  '6\r\ndata: \r\nA;a=b;c="d"\r\n0123456789\r\n00c \r\n hello world\r\n0\r\nX-Trailer: yes\r\n\r\n',
].join("");
const LENGTH =
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello";
const UNTIL_CLOSE = "HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\n\r\nas long as it lasts";

describe("the client's response parser", () => {
  test.each([
    ["chunked", CHUNKED, { status: 200, body: "data: 0123456789 hello world", end: "reusable" }],
    ["fixed-length, after interim,", LENGTH, { status: 200, body: "hello", end: "reusable" }],
    ["close-delimited", UNTIL_CLOSE, { status: 200, body: "as long as it lasts", end: "exhausted" }],
  ])("CHAT-08 a %s response is parsed the same wherever its bytes are split", (_name, text, expected) => {
    expect(parseSegments([text])).toMatchObject(expected);
    expect(parseSegments([...text])).toEqual(parseSegments([text]));
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 12 }), (offsets) => {
        expect(parseSegments(splitAt(text, offsets))).toEqual(parseSegments([text]));
      }),
    );
  });

  test("CHAT-08 chunks that arrive in one read are delivered as one buffer", () => {
    const buffers: string[] = [];
    const parser = new ResponseParser(
      { onHead() {}, onData: (bytes) => void buffers.push(bytes.toString()), onEnd() {}, onUnsolicitedBytes() {} },
      HEAD_BYTES_MAX,
    );
    parser.expectResponse();
    parser.parse(Buffer.from(CHUNKED));
    expect(buffers).toEqual(["data: 0123456789 hello world"]);
  });

  test("header names are lower-cased, values trimmed, and repeated headers joined", () => {
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
    const { status, headers, end } = parseSegments([`${head}\r\n\r\n`]);
    expect({ status, end }).toEqual({ status: 429, end: "reusable" });
    expect(headers).toEqual({
      "retry-after": "7",
      "x-a": "1, 2",
      empty: "",
      "set-cookie": ["a", "b"],
      "content-length": "0",
    });
  });

  test.each([
    ["204", "HTTP/1.1 204 No Content\r\n\r\n", "reusable"],
    ["304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", "reusable"],
    ["with an empty body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "reusable"],
    ["with Connection: close", "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n", "exhausted"],
    ["of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "exhausted"],
    ["followed by extra bytes", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK", "exhausted"],
    [
      "with extra bytes after its last chunk",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nmore",
      "exhausted",
    ],
  ])("after a response %s the connection is: %s", (_name, text, connection) => {
    expect(parseSegments([text])).toMatchObject({ body: "", end: connection });
  });

  test.each([
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n"],
    ["HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n"],
    ["no status code", "HTTP/1.1 OK\r\n\r\n"],
    ["a two-digit status code", "HTTP/1.1 20 OK\r\n\r\n"],
    ["a four-digit status code", "HTTP/1.1 2000 OK\r\n\r\n"],
    ["101 Switching Protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"],
    ["a header without a colon", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"],
    ["a header without a name", "HTTP/1.1 200 OK\r\n: x\r\n\r\n"],
    ["a name with a space", "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello"],
    ["obs-fold line continuation", "HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\n\r\n"],
    ["a bare LF", "HTTP/1.1 200 OK\r\nX-A: 1\nContent-Length: 5\r\n\r\nhello"],
    ["a control character", "HTTP/1.1 200 OK\r\nX-A: \0\r\n\r\n"],
    ["two Content-Length headers", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello"],
    ["a Content-Length list", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello"],
    ["a signed Content-Length", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello"],
    ["a no-break space before Content-Length", "HTTP/1.1 200 OK\r\nContent-Length: \xa05\r\n\r\nhello"],
    [
      "a no-break space after the transfer coding",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\xa0\r\n\r\n0\r\n\r\n",
    ],
    ["a negative Content-Length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"],
    ["an unsafe integer as Content-Length", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999\r\n\r\nhello"],
    [
      "Content-Length and Transfer-Encoding",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["another transfer coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
    [
      "a repeated transfer coding",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
  ])("ERR-07 rejects %s", (_name, text) => {
    expect(parseSegments([text])).toEqual({ body: "", fault: "HTTP_BAD_ANSWER" });
    expect(parseSegments([...text])).toEqual({ body: "", fault: "HTTP_BAD_ANSWER" });
  });

  test.each([
    ["a missing size", "\r\nhello\r\n"],
    ["a size that is not a number", "xyz\r\nhello\r\n"],
    ["a signed size", "-5\r\nhello\r\n"],
    ["a size with 0x", "0x5\r\nhello\r\n"],
    ["an unsafe integer as size", "fffffffffffffffff\r\nhello\r\n"],
    ["a size line with a bare LF", "5\nhello\r\n"],
    ["a bare LF in an extension", "5;a\nb\r\nhello\r\n"],
    ["an oversized extension", `5;${"a".repeat(20_000)}`],
    ["a chunk longer than its size", "4\r\nhello\r\n"],
    ["a chunk that ends with a bare LF", "5\r\nhello\n5\r\n"],
    ["oversized trailers", `0\r\n${"a: b\r\n".repeat(4_000)}`],
    ["a bare LF in a trailer", "0\r\na: b\nc: d\r\n\r\n"],
  ])("ERR-07 rejects a chunk with %s after delivering the chunks before it", (_name, text) => {
    const whole = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n${text}`;
    const { status, body, fault } = parseSegments([whole]);
    expect({ status, begins: body.slice(0, 3), fault }).toEqual({
      status: 200,
      begins: "yes",
      fault: "HTTP_BAD_ANSWER",
    });
    expect(parseSegments([...whole])).toEqual(parseSegments([whole]));
  });

  test.each([
    ["no bytes", ""],
    ["an incomplete head", "HTTP/1.1 200 OK\r\nContent-Le"],
    ["an interim response", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["less than Content-Length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"],
    ["no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"],
    ["an incomplete last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"],
  ])("ERR-07 reports a truncated response for %s before the connection closes", (_name, text) => {
    expect(parseSegments([text]).fault).toBe("HTTP_CUT_OFF");
  });

  test("ERR-07 rejects an oversized head, complete or not, in one segment or many", () => {
    const fitting = `HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ${"a".repeat(HEAD_BYTES_MAX - 39)}`;
    expect(parseSegments([`${fitting}\r\n\r\n`])).toMatchObject({ status: 200, end: "reusable" });
    for (const text of [`${fitting}a\r\n\r\n`, `${fitting}${"a".repeat(50)}`, "x".repeat(5_000)]) {
      expect(parseSegments([text]).fault).toBe("HTTP_HEAD_TOO_LARGE");
      expect(parseSegments([...text]).fault).toBe("HTTP_HEAD_TOO_LARGE");
    }
  });

  test("LOG-02 rejects bytes that arrive without a request", () => {
    const never = () => expect.fail("the observer was called");
    let reports = 0;
    const onUnsolicitedBytes = () => {
      reports += 1;
    };
    const observer = { onHead: never, onData: never, onEnd: never, onUnsolicitedBytes };
    const parser = new ResponseParser(observer, HEAD_BYTES_MAX);
    expect(() => parser.parse(Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))).toThrow("HTTP_BAD_ANSWER");
    expect(reports).toBe(1);
  });

  test.each([
    ["a fixed length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok"],
    ["no body", "HTTP/1.1 204 No Content\r\n\r\n", ""],
    ["chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "ok"],
  ])("SAFE-04 one byte beyond %s is reported, and the connection is not used again", (_name, text, body) => {
    expect(parseSegments([text])).not.toHaveProperty("hasUnsolicited");
    expect(parseSegments([`${text}!`])).toMatchObject({ body, end: "exhausted", hasUnsolicited: true });
  });

  test("an observer that stops the parser gets no further events", () => {
    for (const event of ["head", "data"] as const) {
      const events: string[] = [];
      const parser: ResponseParser = new ResponseParser(
        {
          onHead() {
            events.push("head");
            if (event === "head") parser.stop();
          },
          onData() {
            events.push("data");
            if (event === "data") parser.stop();
          },
          onEnd: () => void events.push("end"),
          onUnsolicitedBytes: () => void events.push("unsolicited"),
        },
        HEAD_BYTES_MAX,
      );
      parser.expectResponse();
      parser.parse(Buffer.from(CHUNKED));
      expect(events).toEqual(event === "head" ? ["head"] : ["head", "data"]);
    }
  });
});
