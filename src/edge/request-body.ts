import { Readable, Transform } from "node:stream";
import { ClientDisconnected } from "../app/exchange.ts";
import { type Fault, fault } from "../contract/faults.ts";
import type { Intake } from "../contract/route.ts";
import { FastPathRequest } from "../http1/server/fast-path-connection.ts";
import type { InboundHttpRequest } from "../http1/server/server-message.ts";

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

export function awaitsContinue(request: InboundHttpRequest): boolean {
  return request.headers.expect?.toLowerCase() === "100-continue";
}

/** The client side of a body, as its reader sees it. */
export type BodySender = {
  /** Called once, right before the body is read. */
  requestBody(): void;
  /** The fault that was sent for an incomplete body; undefined: the client disconnected. */
  refusal(): Fault | undefined;
};

/** Reads the whole body up to `maxBytes`; a larger Content-Length is rejected before a byte is read. */
export function readRequestBody(
  request: InboundHttpRequest,
  intake: Intake,
  maxBytes: number,
  sender: BodySender,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const announced = Number(request.headers["content-length"] ?? 0);
    if (announced > maxBytes) throw tooLargeFault(maxBytes);
    rejectDisconnected(request, sender);
    if (request instanceof FastPathRequest) {
      const problem = contentTypeFault(request, intake, request.body.length);
      if (problem !== undefined) throw problem;
      return resolve(request.body);
    }
    sender.requestBody();
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
      if (!request.readableEnded) reject(incompleteBodyFault(sender));
    };
    request.on("error", onBroken);
    request.on("close", onBroken);
  });
}

/**
 * Streams an upload up to `maxBytes` without buffering it. Invalid headers are rejected before a byte is read; a later
 * problem destroys the stream with the fault.
 */
export function openUpload(request: InboundHttpRequest, maxBytes: number, sender: BodySender): Readable {
  const problem = uploadHeaderFault(request, maxBytes);
  if (problem !== undefined) throw problem;
  rejectDisconnected(request, sender);
  if (request instanceof FastPathRequest) return Readable.from([request.body]);
  sender.requestBody();
  let bytes = 0;
  const limited = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(tooLargeFault(maxBytes));
      else done(null, chunk);
    },
  });
  const onBroken = () => {
    if (!request.readableEnded) limited.destroy(incompleteBodyFault(sender));
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

function uploadHeaderFault(request: InboundHttpRequest, maxBytes: number): Fault | undefined {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes) return tooLargeFault(maxBytes);
  const compressed = contentEncodingFault(request);
  if (compressed !== undefined) return compressed;
  if (MULTIPART_TYPE.test(request.headers["content-type"] ?? "")) return undefined;
  return fault("unsupported_media_type", {
    message: "This endpoint reads a form with a file. Send `Content-Type: multipart/form-data` with its boundary.",
  });
}

function contentEncodingFault(request: InboundHttpRequest): Fault | undefined {
  const coding = request.headers["content-encoding"] ?? "identity";
  if (coding.toLowerCase() === "identity") return undefined;
  return fault("unsupported_media_type", {
    message: "Compressed bodies are not read here. Send the body without `Content-Encoding`.",
  });
}

/** A missing Content-Type counts as JSON; a different one is rejected. */
function contentTypeFault(request: InboundHttpRequest, intake: Intake, bytes: number): Fault | undefined {
  const compressed = bytes > 0 ? contentEncodingFault(request) : undefined;
  if (compressed !== undefined) return compressed;
  const type = request.headers["content-type"];
  if (intake !== "json" || type === undefined || bytes === 0 || JSON_TYPE.test(type)) return undefined;
  return fault("unsupported_media_type", {
    message: "This endpoint reads JSON. Send `Content-Type: application/json`.",
  });
}

function incompleteBodyFault(sender: BodySender): Fault {
  return sender.refusal() ?? new ClientDisconnected();
}

/** The client may have disconnected while the request was authenticated. */
function rejectDisconnected(request: InboundHttpRequest, sender: BodySender): void {
  if (request.destroyed) throw incompleteBodyFault(sender);
}

function tooLargeFault(maxBytes: number) {
  return fault("request_too_large", {
    message: `The body is larger than the limit of ${maxBytes} bytes. Send less at once.`,
  });
}
