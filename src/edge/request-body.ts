import { type Fault, fault } from "../contract/faults.ts";
import type { Intake } from "../contract/route.ts";
import { FastPathRequest, type InboundHttpRequest } from "../http1/server/fast-path-connection.ts";
import { type BodyExchange, incompleteBodyFault, readStreamedBody, tooLargeFault } from "./streamed-body.ts";

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** Reads the whole body up to `maxBytes`; a larger Content-Length is rejected before a byte is read. */
export function readRequestBody(exchange: BodyExchange, intake: Intake, maxBytes: number): Promise<Buffer> {
  const { request } = exchange;
  return new Promise((resolve, reject) => {
    const announced = Number(request.headers["content-length"] ?? 0);
    if (announced > maxBytes) throw tooLargeFault(maxBytes);
    // The client may have disconnected while the request was authenticated.
    if (request.destroyed) throw incompleteBodyFault(exchange);
    const settle = (body: Buffer) => {
      const problem = contentTypeFault(request, intake, body.length);
      if (problem !== undefined) reject(problem);
      else resolve(body);
    };
    if (request instanceof FastPathRequest) settle(request.body);
    else readStreamedBody(exchange, request, maxBytes, { resolve: settle, reject });
  });
}

/** A missing Content-Type counts as JSON; a different one is rejected. */
export function contentTypeFault(request: InboundHttpRequest, intake: Intake, bytes: number): Fault | undefined {
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
