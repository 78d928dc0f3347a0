import type { IncomingMessage } from "node:http";
import { type Fault, fault } from "../contract/faults.ts";
import type { Intake } from "../contract/route.ts";

export type BodyLimits = { readonly jsonMaxBytes: number; readonly uploadMaxBytes: number };

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** The client waits for a word before it sends its body. */
export function awaitsContinue(request: IncomingMessage): boolean {
  return request.headers.expect?.toLowerCase() === "100-continue";
}

/**
 * Reads the body under its cap; a length that is announced too large is refused before a byte is read. `wanted` is
 * called once the body is about to be read.
 */
export function readBody(
  request: IncomingMessage,
  intake: Intake,
  limits: BodyLimits,
  wanted: () => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const maxBytes = intake === "multipart" ? limits.uploadMaxBytes : limits.jsonMaxBytes;
    const announced = Number(request.headers["content-length"] ?? 0);
    if (announced > maxBytes) throw tooLarge(maxBytes);
    wanted();
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
      reject(tooLarge(maxBytes));
    };
    request.on("data", take);
    request.on("end", () => {
      const wrong = typeFault(request, intake, bytes);
      const [only] = chunks;
      if (wrong !== undefined) reject(wrong);
      else resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks));
    });
    const broken = () => reject(fault("invalid_request", { message: "The request ended before its body was whole." }));
    request.on("error", broken);
    request.on("close", () => {
      if (!request.complete) broken();
    });
  });
}

/** Clients that send JSON without saying so are believed; clients that say something else are not. */
function typeFault(request: IncomingMessage, intake: Intake, bytes: number): Fault | undefined {
  const coding = request.headers["content-encoding"] ?? "identity";
  if (bytes > 0 && coding.toLowerCase() !== "identity")
    return fault("unsupported_media_type", {
      message: "Compressed bodies are not read here. Send the body without `Content-Encoding`.",
    });
  const type = request.headers["content-type"];
  if (intake !== "json" || type === undefined || bytes === 0 || JSON_TYPE.test(type)) return undefined;
  return fault("unsupported_media_type", {
    message: "This endpoint reads JSON. Send `Content-Type: application/json`.",
  });
}

function tooLarge(maxBytes: number) {
  return fault("request_too_large", { message: `The body is larger than the limit of ${maxBytes} bytes.` });
}
