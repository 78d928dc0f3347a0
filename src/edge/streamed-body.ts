import type { IncomingMessage } from "node:http";
import { ClientDisconnected } from "../app/exchange.ts";
import { type Fault, fault } from "../contract/faults.ts";
import type { InboundHttpRequest } from "../http1/server/fast-path-connection.ts";
import { ServerResponse } from "../kit/node-http.ts";
import type { EdgeExchange } from "./edge-exchange.ts";

/** The part of an exchange that a reader of the body needs. */
export type BodyExchange = Pick<EdgeExchange, "request" | "response"> & {
  readonly connection: Pick<EdgeExchange["connection"], "refusal">;
};

type BodyPromise = { resolve(body: Buffer): void; reject(problem: Fault): void };

/** Reads a body that Node's server receives in pieces. */
export function readStreamedBody(
  exchange: BodyExchange,
  request: IncomingMessage,
  maxBytes: number,
  { resolve, reject }: BodyPromise,
): void {
  sendContinueIfAwaited(exchange);
  const chunks: Buffer[] = [];
  let bytes = 0;
  const take = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxBytes) {
      chunks.push(chunk);
      return;
    }
    request.off("data", take);
    request.pause();
    chunks.length = 0;
    reject(tooLargeFault(maxBytes));
  };
  request.on("data", take);
  request.on("end", () => {
    const [only] = chunks;
    resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks));
  });
  // `close` fires for every request, so the fault with its stack trace is built only for an incomplete one.
  const onBroken = () => {
    if (!request.readableEnded) reject(incompleteBodyFault(exchange));
  };
  request.on("error", onBroken);
  request.on("close", onBroken);
}

export function awaitsContinue(request: InboundHttpRequest): boolean {
  return request.headers.expect?.toLowerCase() === "100-continue";
}

/** Called once, right before the body is read. */
export function sendContinueIfAwaited({ request, response }: BodyExchange): void {
  if (awaitsContinue(request) && response instanceof ServerResponse) response.writeContinue();
}

/** The fault that was sent for an incomplete body, unless the client disconnected. */
export function incompleteBodyFault({ connection }: BodyExchange): Fault {
  return connection.refusal ?? new ClientDisconnected();
}

export function tooLargeFault(maxBytes: number): Fault {
  return fault("request_too_large", {
    message: `The body exceeds the limit of ${maxBytes} bytes. Send a smaller one.`,
  });
}
