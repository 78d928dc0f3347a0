import { Readable, Transform } from "node:stream";
import { ClientDisconnected } from "../app/exchange.ts";
import { type Fault, fault } from "../contract/faults.ts";
import type { Intake } from "../contract/route.ts";
import { FastPathRequest } from "../http1/server/fast-path-request.ts";
import type { Incoming } from "../http1/server/server-message.ts";

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** The client waits for a word before it sends its body. */
export function awaitsContinue(request: Incoming): boolean {
  return request.headers.expect?.toLowerCase() === "100-continue";
}

/** Whoever sends a body, as far as its reader has to know. */
export type Sender = {
  /** Called once the body is about to be read. */
  wanted(): void;
  /** What was answered in the place of a body that was cut off; undefined: its sender left. */
  refusal(): Fault | undefined;
};

/** Reads the body under its cap; a length that is announced too large is refused before a byte is read. */
export function readBody(request: Incoming, intake: Intake, maxBytes: number, sender: Sender): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const announced = Number(request.headers["content-length"] ?? 0);
    if (announced > maxBytes) throw tooLarge(maxBytes);
    refuseLeft(request, sender);
    if (request instanceof FastPathRequest) {
      const wrong = typeFault(request, intake, request.body.length);
      if (wrong !== undefined) throw wrong;
      return resolve(request.body);
    }
    sender.wanted();
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
    // Every request closes in the end: a fault takes its stack along, which only one that broke is worth.
    const broken = () => {
      if (!request.readableEnded) reject(cutOff(sender));
    };
    request.on("error", broken);
    request.on("close", broken);
  });
}

/**
 * The body of an upload as it comes, under its cap and never held whole. What is wrong with it by its headers is said
 * before a byte is read; what goes wrong later ends the stream with the fault.
 */
export function openUpload(request: Incoming, maxBytes: number, sender: Sender): Readable {
  const wrong = uploadFault(request, maxBytes);
  if (wrong !== undefined) throw wrong;
  refuseLeft(request, sender);
  if (request instanceof FastPathRequest) return Readable.from([request.body]);
  sender.wanted();
  let bytes = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(tooLarge(maxBytes));
      else done(null, chunk);
    },
  });
  const broken = () => {
    if (!request.readableEnded) counted.destroy(cutOff(sender));
  };
  request.on("error", broken);
  request.on("close", broken);
  counted.on("close", () => {
    request.off("close", broken);
    // Whoever answers now decides what becomes of the rest.
    request.unpipe(counted);
    request.pause();
  });
  return request.pipe(counted);
}

/** A form with the boundary that its parts are told apart by; anything else is no upload. */
const FORM_TYPE = /^multipart\/form-data[ \t]*;(?:[^"]|"[^"]*")*\bboundary=(?:"[^"\r\n]{1,200}"|[^\s";,]{1,200})/i;

function uploadFault(request: Incoming, maxBytes: number): Fault | undefined {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes) return tooLarge(maxBytes);
  const compressed = codingFault(request);
  if (compressed !== undefined) return compressed;
  if (FORM_TYPE.test(request.headers["content-type"] ?? "")) return undefined;
  return fault("unsupported_media_type", {
    message: "This endpoint reads a form with a file. Send `Content-Type: multipart/form-data` with its boundary.",
  });
}

function codingFault(request: Incoming): Fault | undefined {
  const coding = request.headers["content-encoding"] ?? "identity";
  if (coding.toLowerCase() === "identity") return undefined;
  return fault("unsupported_media_type", {
    message: "Compressed bodies are not read here. Send the body without `Content-Encoding`.",
  });
}

/** Clients that send JSON without saying so are believed; clients that say something else are not. */
function typeFault(request: Incoming, intake: Intake, bytes: number): Fault | undefined {
  const compressed = bytes > 0 ? codingFault(request) : undefined;
  if (compressed !== undefined) return compressed;
  const type = request.headers["content-type"];
  if (intake !== "json" || type === undefined || bytes === 0 || JSON_TYPE.test(type)) return undefined;
  return fault("unsupported_media_type", {
    message: "This endpoint reads JSON. Send `Content-Type: application/json`.",
  });
}

function cutOff(sender: Sender): Fault {
  return sender.refusal() ?? new ClientDisconnected();
}

/** Who left while something else was asked is heard of no more, whatever had come until then. */
function refuseLeft(request: Incoming, sender: Sender): void {
  if (request.destroyed) throw cutOff(sender);
}

function tooLarge(maxBytes: number) {
  return fault("request_too_large", {
    message: `The body is larger than the limit of ${maxBytes} bytes. Send less at once.`,
  });
}
