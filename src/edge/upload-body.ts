import { Readable, Transform } from "node:stream";
import { type Fault, fault } from "../contract/faults.ts";
import type { Intake } from "../contract/route.ts";
import { FastPathRequest, type InboundHttpRequest } from "../http1/server/fast-path-connection.ts";
import { contentEncodingFault, contentTypeFault } from "./request-body.ts";
import { type BodyExchange, incompleteBodyFault, sendContinueIfAwaited, tooLargeFault } from "./streamed-body.ts";

/**
 * Streams an upload up to `maxBytes` without buffering it. Invalid headers are rejected before a byte is read; a later
 * problem destroys the stream with the fault.
 */
export function openUpload(exchange: BodyExchange, maxBytes: number, intake: Intake = "multipart"): Readable {
  const { request } = exchange;
  const problem = uploadHeaderFault(request, maxBytes, intake);
  if (problem !== undefined) throw problem;
  // The client may have disconnected while the request was authenticated.
  if (request.destroyed) throw incompleteBodyFault(exchange);
  if (request instanceof FastPathRequest) return Readable.from([request.body]);
  sendContinueIfAwaited(exchange);
  let bytes = 0;
  const limited = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(tooLargeFault(maxBytes));
      else done(null, chunk);
    },
  });
  const onBroken = () => {
    if (!request.readableEnded) limited.destroy(incompleteBodyFault(exchange));
  };
  request.on("error", onBroken);
  request.on("close", onBroken);
  limited.on("close", () => {
    request.off("close", onBroken);
    // The code that sends the response decides whether to drain the rest.
    request.unpipe(limited);
    request.pause();
  });
  return request.pipe(limited);
}

const MULTIPART_TYPE = /^multipart\/form-data[ \t]*;(?:[^"]|"[^"]*")*\bboundary=(?:"[^"\r\n]{1,200}"|[^\s";,]{1,200})/i;

function uploadHeaderFault(request: InboundHttpRequest, maxBytes: number, intake: Intake): Fault | undefined {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes) return tooLargeFault(maxBytes);
  const compressed = contentEncodingFault(request);
  if (compressed !== undefined) return compressed;
  if (intake === "json") return contentTypeFault(request, intake, 1);
  if (MULTIPART_TYPE.test(request.headers["content-type"] ?? "")) return undefined;
  return fault("unsupported_media_type", {
    message: "This endpoint requires a form with a file. Send `Content-Type: multipart/form-data` with its boundary.",
  });
}
