import type { ServerResponse } from "node:http";
import type { Sink } from "../app/exchange.ts";

/** A client that takes nothing of what was sent for this long is as good as gone. */
const STALL_MS = 60_000;

/** The client's side of a streamed answer over node:http. */
export function sinkOver(response: ServerResponse, stallMs = STALL_MS): Sink {
  let gone = false;
  const listeners: (() => void)[] = [];
  response.on("close", () => {
    if (response.writableFinished) return;
    gone = true;
    for (const listener of listeners) listener();
  });
  // Node closes a connection whose time is up, and counts what the client takes meanwhile as life.
  const patience = (ms: number) => void response.socket?.setTimeout(ms);
  return {
    get started() {
      return response.headersSent;
    },
    get gone() {
      return gone;
    },
    start: (status, headers) => {
      if (!gone) response.writeHead(status, headers);
    },
    write: (chunk) => {
      const room = gone || response.write(chunk);
      if (!room) patience(stallMs);
      return room;
    },
    drained: () =>
      new Promise((resolve) => {
        if (gone) return resolve();
        const done = () => {
          response.off("drain", done);
          response.off("close", done);
          patience(0);
          resolve();
        };
        response.on("drain", done);
        response.on("close", done);
      }),
    end: (chunk) => {
      if (gone) return;
      response.end(chunk);
      if (!response.writableFinished && (response.socket?.writableLength ?? 0) > 0) patience(stallMs);
    },
    cut: () => response.destroy(),
    onGone: (listener) => {
      if (gone) listener();
      else listeners.push(listener);
    },
  };
}
