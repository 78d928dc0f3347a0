import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect } from "vitest";
import type { FaultCode } from "../../src/contract/faults.ts";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";

/** One HTTP response as received. */
export type WireAnswer = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  readonly json: unknown;
};

export type Exchanged = {
  readonly answers: readonly WireAnswer[];
  /** How it ended: closed by the gateway, or by the test after `patienceMs`. */
  readonly ended: "closed" | "open";
  readonly text: string;
};

export type Sending = {
  readonly patienceMs?: number;
  /** Chunks after the first are sent once a response has begun. */
  readonly after?: "answer";
  /** Stop after this many responses. */
  readonly answers?: number;
  /** Half-close after the last byte. */
  readonly half?: "closed";
};

/** Sends raw bytes to the gateway and collects what is received. Never throws. */
export function exchange(url: string, pieces: readonly (string | Buffer)[], how: Sending = {}): Promise<Exchanged> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(port) });
    const chunks: Buffer[] = [];
    let ended: Exchanged["ended"] = "closed";
    const patience = setTimeout(() => {
      ended = "open";
      socket.destroy();
    }, how.patienceMs ?? 5_000);
    socket.on("data", (chunk) => {
      chunks.push(Buffer.from(chunk));
      if (how.answers === undefined || answersIn(Buffer.concat(chunks)).length < how.answers) return;
      ended = "open";
      socket.destroy();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(patience);
      const bytes = Buffer.concat(chunks);
      resolve({ answers: answersIn(bytes), ended, text: bytes.toString("latin1") });
    });
    void sendPieces(socket, pieces, how);
  });
}

async function sendPieces(socket: Socket, pieces: readonly (string | Buffer)[], how: Sending): Promise<void> {
  for (const [index, piece] of pieces.entries()) {
    if (index > 0 && how.after === "answer") await waitForData(socket);
    if (socket.destroyed) return;
    socket.write(piece);
  }
  if (how.half === "closed") socket.end();
}

function waitForData(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ["data", "close"]) socket.once(event, () => resolve());
  });
}

/** A client that reads nothing until everything is sent, and stops at the first failed write. */
export async function sendThenListen(url: string, pieces: readonly (string | Buffer)[]): Promise<WireAnswer> {
  const socket = connect({ host: new URL(url).hostname, port: Number(new URL(url).port) });
  const ended = once(socket, "close");
  try {
    for (const piece of pieces)
      await new Promise<void>((resolve, reject) => {
        socket.once("error", reject);
        socket.write(piece, (error) => (error ? reject(error) : resolve()));
      });
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(Buffer.from(chunk)));
    await ended;
    return only({ answers: answersIn(Buffer.concat(chunks)), ended: "closed", text: Buffer.concat(chunks).toString() });
  } finally {
    socket.destroy();
  }
}

/** Every response in the bytes, without interim ones (100). */
export function answersIn(bytes: Buffer): WireAnswer[] {
  const answers: WireAnswer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const split = bytes.indexOf("\r\n\r\n", at);
    if (split < 0) break;
    const [first = "", ...lines] = bytes.toString("latin1", at, split).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? Number.NaN);
    const headers = new Map(
      lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
    );
    const { body, end } = readBody(bytes, split + 4, headers, status);
    at = end;
    if (status !== 100) answers.push({ status, headers, body: body.toString("utf8"), json: parsed(body) });
  }
  return answers;
}

function readBody(bytes: Buffer, start: number, headers: ReadonlyMap<string, string>, status: number) {
  if (status === 100 || status === 204 || status === 304) return { body: Buffer.alloc(0), end: start };
  if (headers.get("transfer-encoding") !== "chunked") {
    const end = start + Number(headers.get("content-length") ?? bytes.length - start);
    return { body: bytes.subarray(start, end), end };
  }
  const parts: Buffer[] = [];
  let at = start;
  while (at < bytes.length) {
    const line = bytes.indexOf("\r\n", at);
    const size = line < 0 ? Number.NaN : Number.parseInt(bytes.toString("latin1", at, line), 16);
    if (!(size > 0)) return { body: Buffer.concat(parts), end: size === 0 ? line + 4 : bytes.length };
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
  return { body: Buffer.concat(parts), end: bytes.length };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** The only response of an exchange. */
export function only({ answers, text }: Exchanged): WireAnswer {
  const [answer, ...rest] = answers;
  if (answer === undefined || rest.length > 0) throw new Error(`not one answer: ${text.slice(0, 500)}`);
  return answer;
}

const TYPES = [
  "invalid_request_error",
  "authentication_error",
  "permission_error",
  "not_found_error",
  "rate_limit_error",
  "billing_error",
  "upstream_error",
  "api_error",
];

/** Texts that no refusal may contain: stacks, files of the gateway or its machine. */
const PRIVATE =
  /\bat (?:async )?[\w.<>#]+ \(|node:internal|node_modules|\.ts:\d+|file:\/\/|\/(?:work|home|tmp|root|usr)\//;

type Refusal = { readonly status: number; readonly text: string; readonly header: (name: string) => string | null };

/** ERR-01: the envelope is complete, its id equals the header's, and it shows no internals. */
export function expectEnvelope({ status, text, header }: Refusal): JsonObject {
  expect(status, text).toBeGreaterThanOrEqual(400);
  const body = unwrapGoogleError(JSON.parse(text), status);
  if (!isJsonObject(body) || !isJsonObject(body["error"])) throw new Error(`no envelope: ${text.slice(0, 300)}`);
  const { error } = body;
  // On the messages surface it is wrapped in the dialect's envelope (ERR-03).
  if (body["type"] === "error") expect(body["request_id"]).toBe(error["request_id"]);
  else expect(Object.keys(body)).toEqual(["error"]);
  const optional = ["param", "upstream"];
  expect(Object.keys(error).filter((field) => !optional.includes(field))).toEqual([
    "message",
    "type",
    "code",
    "request_id",
  ]);
  if (status === 429 || status === 503) expect(header("retry-after")).toMatch(/^\d+$/);
  expect(error["message"]).toMatch(/^\S.{10,}/s);
  expect(TYPES).toContain(error["type"]);
  expect(error["request_id"]).toMatch(/^(?:req_|chatcmpl-|msg_|resp_|dec_)[0-9a-f]{32}$/);
  for (const name of ["x-svc-request-id", "x-request-id", "request-id"]) expect(header(name)).toBe(error["request_id"]);
  expect(header("content-type")).toBe("application/json");
  expect(text).not.toMatch(PRIVATE);
  return error;
}

/** The envelope in an error of the Gemini dialect, which a stream of an array has in an array (GEM-01). */
function unwrapGoogleError(read: unknown, status: number): unknown {
  const body: unknown = Array.isArray(read) ? read[0] : read;
  const error = isJsonObject(body) ? body["error"] : undefined;
  if (!isJsonObject(error) || !Array.isArray(error["details"])) return body;
  const { message, code, status: name, details } = error;
  expect(code).toBe(status);
  expect(name).toMatch(/^[A-Z_]+$/);
  const [info] = details;
  const metadata = isJsonObject(info) && isJsonObject(info["metadata"]) ? info["metadata"] : {};
  const { type, code: own, request_id, param } = metadata;
  return { error: { message, type, code: own, request_id, ...(param === undefined ? {} : { param }) } };
}

export function expectWireEnvelope(answer: WireAnswer): JsonObject {
  const { status, body: text, headers } = answer;
  return expectEnvelope({ status, text, header: (name) => headers.get(name) ?? null });
}

type Called = { readonly status: number; readonly text: string; readonly headers: Headers };

/** A refusal with the given code in a complete envelope. */
export function expectRefusal(answer: Called, status: number, code: FaultCode): JsonObject {
  const { text, headers } = answer;
  const error = expectEnvelope({ status: answer.status, text, header: (name) => headers.get(name) });
  expect({ status: answer.status, code: error["code"] }, text).toEqual({ status, code });
  return error;
}

export const CHAT = "/v1/chat/completions";
export const HELLO = { model: "sandbox/chat-mini", messages: [{ role: "user", content: "Hello!" }] };
/** A model of the shipped catalogue that only Scaleway serves when connected alone. */
export const SCALEWAY_MODEL = "meta/llama-3.3-70b-instruct";
