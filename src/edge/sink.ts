import type { ServerResponse } from "node:http";
import type { Sink } from "../app/exchange.ts";

/** The client's side of a streamed answer over node:http. */
export function sinkOver(response: ServerResponse): Sink {
  let gone = false;
  const listeners: (() => void)[] = [];
  response.on("close", () => {
    if (response.writableFinished) return;
    gone = true;
    for (const listener of listeners) listener();
  });
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
    write: (chunk) => gone || response.write(chunk),
    drained: () =>
      new Promise((resolve) => {
        if (gone) return resolve();
        const done = () => {
          response.off("drain", done);
          response.off("close", done);
          resolve();
        };
        response.on("drain", done);
        response.on("close", done);
      }),
    end: (chunk) => {
      if (!gone) response.end(chunk);
    },
    cut: () => response.destroy(),
    onGone: (listener) => {
      if (gone) listener();
      else listeners.push(listener);
    },
  };
}
