import { expect, test } from "vitest";
import { EdgeResponseSink } from "./edge-response-sink.ts";
import { PIECE_CHARS } from "./paced-writes.ts";

/** A client that takes one piece, then the next after `drain`. */
function slowResponse() {
  const listeners = { drain: new Set<() => void>(), close: new Set<() => void>() };
  const pieces: string[] = [];
  const emit = (event: "drain" | "close") => {
    for (const listener of [...listeners[event]]) listener();
  };
  const response = {
    pieces,
    emit,
    isEnded: false,
    headersSent: true,
    statusCode: 200,
    destroyed: false,
    writableFinished: false,
    shouldKeepAlive: true,
    writeHead() {},
    write(chunk: Buffer | string) {
      pieces.push(String(chunk));
      setImmediate(() => emit("drain"));
      return false;
    },
    end(chunk?: Buffer | string) {
      if (chunk !== undefined) pieces.push(String(chunk));
      response.isEnded = true;
    },
    destroy() {},
    on: (event: "drain" | "close", listener: () => void) => listeners[event].add(listener),
    off: (event: "drain" | "close", listener: () => void) => listeners[event].delete(listener),
  };
  return response;
}

test("SAFE-01 a long text leaves in pieces of whole characters, and what follows it leaves after it", async () => {
  const response = slowResponse();
  const sink = new EdgeResponseSink(response);
  const long = `x${"\u{1f600}".repeat(PIECE_CHARS)}`;
  expect(sink.write(long)).toBe(false);
  expect(sink.write("short")).toBe(false);
  sink.end("last");
  expect(response.pieces).toEqual([]);
  await sink.writing;
  expect(response.isEnded).toBe(true);
  expect(response.pieces.join("") === `${long}shortlast`).toBe(true);
  for (const piece of response.pieces)
    expect([piece.length <= PIECE_CHARS, piece.isWellFormed()]).toEqual([true, true]);
  expect(sink.writing).toBe(undefined);
});

test("SAFE-01 short texts are written at once", () => {
  const response = slowResponse();
  const sink = new EdgeResponseSink(response);
  sink.write("one");
  sink.end("two");
  expect([response.pieces, response.isEnded]).toEqual([["one", "two"], true]);
});

test("SAFE-01 nothing more is written to a client that has left", async () => {
  const response = slowResponse();
  const sink = new EdgeResponseSink(response);
  sink.end("x".repeat(3 * PIECE_CHARS));
  response.destroyed = true;
  await sink.writing;
  expect([response.pieces, response.isEnded]).toEqual([[], false]);
});
