import { ClientDisconnected } from "../app/exchange.ts";
import { type Fault, fault } from "../contract/faults.ts";
import type { Intake } from "../contract/route.ts";
import { FastPathRequest, type InboundHttpRequest } from "../http1/server/fast-path-connection.ts";
import { ServerResponse } from "../kit/node-http.ts";
import type { EdgeExchange } from "./edge-exchange.ts";

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** The part of an exchange that a reader of the body needs. */
export type BodyExchange = Pick<EdgeExchange, "request" | "response"> & {
  readonly connection: Pick<EdgeExchange["connection"], "refusal">;
};

/** Reads the whole body up to `maxBytes`; a larger Content-Length is rejected before a byte is read. */
export function readRequestBody(exchange: BodyExchange, intake: Intake, maxBytes: number): Promise<Buffer> {
  const { request } = exchange;
  return new Promise((resolve, reject) => {
    const announced = Number(request.headers["content-length"] ?? 0);
    if (announced > maxBytes) throw tooLargeFault(maxBytes);
    // The client may have disconnected while the request was authenticated.
    if (request.destroyed) throw incompleteBodyFault(exchange);
    if (request instanceof FastPathRequest) {
      const problem = contentTypeFault(request, intake, request.body.length);
      if (problem !== undefined) throw problem;
      return resolve(request.body);
    }
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
      const problem = contentTypeFault(request, intake, bytes);
      const [only] = chunks;
      if (problem !== undefined) reject(problem);
      else resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks));
    });
    // `close` fires for every request, so the fault with its stack trace is built only for an incomplete one.
    const onBroken = () => {
      if (!request.readableEnded) reject(incompleteBodyFault(exchange));
    };
    request.on("error", onBroken);
    request.on("close", onBroken);
  });
}

/** A missing Content-Type counts as JSON; a different one is rejected. */
function contentTypeFault(request: InboundHttpRequest, intake: Intake, bytes: number): Fault | undefined {
  const compressed = bytes > 0 ? contentEncodingFault(request) : undefined;
  if (compressed !== undefined) return compressed;
  const type = request.headers["content-type"];
  if (intake !== "json" || type === undefined || bytes === 0 || JSON_TYPE.test(type)) return undefined;
  return fault("unsupported_media_type", {
    message: "This endpoint requires JSON. Send `Content-Type: application/json`.",
  });
}

export function contentEncodingFault(request: InboundHttpRequest): Fault | undefined {
  const coding = request.headers["content-encoding"] ?? "identity";
  if (coding.toLowerCase() === "identity") return undefined;
  return fault("unsupported_media_type", {
    message: "Compressed bodies are not supported. Send the body without `Content-Encoding`.",
  });
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
