import type { IncomingMessage } from "node:http";
import { fault } from "../contract/faults.ts";
import type { Intake } from "../contract/route.ts";

export type BodyLimits = { readonly jsonMaxBytes: number; readonly uploadMaxBytes: number };

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** Reads the body under its cap; a length that is announced too large is refused before a byte is read. */
export async function readBody(request: IncomingMessage, intake: Intake, limits: BodyLimits): Promise<Buffer> {
  const maxBytes = intake === "multipart" ? limits.uploadMaxBytes : limits.jsonMaxBytes;
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  const bytes = await collect(request, maxBytes);
  checkType(request, intake, bytes.length);
  return bytes;
}

function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else {
        request.pause();
        reject(tooLarge(maxBytes));
      }
    });
    request.on("end", () => {
      const [only] = chunks;
      resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks));
    });
    request.on("error", () =>
      reject(fault("invalid_request", { message: "The request ended before its body was whole." })),
    );
    request.on("close", () => {
      if (!request.complete)
        reject(fault("invalid_request", { message: "The request ended before its body was whole." }));
    });
  });
}

/** Clients that send JSON without saying so are believed; clients that say something else are not. */
function checkType(request: IncomingMessage, intake: Intake, bytes: number): void {
  const type = request.headers["content-type"];
  if (intake !== "json" || type === undefined || bytes === 0 || JSON_TYPE.test(type)) return;
  throw fault("unsupported_media_type", {
    message: "This endpoint reads JSON. Send `Content-Type: application/json`.",
  });
}

function tooLarge(maxBytes: number) {
  return fault("request_too_large", { message: `The body is larger than the limit of ${maxBytes} bytes.` });
}
