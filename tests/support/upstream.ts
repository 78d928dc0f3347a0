import { randomInt } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { isJsonObject } from "../../src/kit/json.ts";
import { chatFrames, chatJson } from "./chat-bodies.ts";

export { chatFrames, chatJson, sse, UPSTREAM_ID, UPSTREAM_USAGE } from "./chat-bodies.ts";

/** One piece of a body; `afterMs` is the silence before it, and `gate` what it waits for. */
type Frame =
  | string
  | Buffer
  | { readonly data: string | Buffer; readonly afterMs: number; readonly gate?: Promise<void> };

/** Where a response breaks off: before its headers, right after them, or after this many bytes of its body. */
type BreakingPoint = "before_headers" | "after_headers" | number;

/** What a scripted upstream does with one request. Default: 200 with an empty body. */
export type Script = {
  readonly status?: number;
  readonly headers?: OutgoingHttpHeaders;
  /** The body: one of these three. `frames` is read lazily, so it may be endless. */
  readonly json?: unknown;
  readonly body?: string | Buffer;
  readonly frames?: Iterable<Frame>;
  /** Raw bytes for the socket, instead of an HTTP response. */
  readonly raw?: string | Buffer;
  readonly beforeHeadersMs?: number;
  /** The response waits for this before it begins. */
  readonly gate?: Promise<void>;
  readonly betweenFramesMs?: number;
  /** Writes every byte of the body separately. */
  readonly slices?: "bytes";
  readonly encoding?: "gzip";
  /** How the end of the body is framed. Default: length for json and body, chunked for frames. */
  readonly framing?: "length" | "chunked" | "close";
  /** Default: the response is complete. A stalled response keeps its connection open and sends nothing more. */
  readonly end?:
    | { readonly is: "cut"; readonly after: BreakingPoint; readonly how?: "fin" | "rst" }
    | { readonly is: "stall"; readonly after: BreakingPoint };
  /** Bytes written on the connection once the response is complete and the connection idle. */
  readonly idleBytes?: string | Buffer;
};

/** A script, or one chosen by the request. */
export type ReplySource = Script | ((received: Received) => Script);

/** A received request. */
type Received = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly raw: Buffer;
  /** The parsed body, undefined when it is not JSON. */
  readonly json: unknown;
  /** Its connection, counted from 1. */
  readonly connection: number;
  /** True once the client disconnected before the response was complete. */
  readonly aborted: boolean;
  /** How it ended: `broken` when the script broke it off. */
  readonly over: Promise<"whole" | "aborted" | "broken">;
};

export type Upstream = {
  /** `http://127.0.0.1:port`; `baseUrl` is the same with `/v1`. */
  readonly url: string;
  readonly baseUrl: string;
  readonly port: number;
  readonly requests: readonly Received[];
  /** Queues the reply to the next request. */
  next(source: ReplySource): void;
  /** Replies to every request for which nothing is queued. */
  always(source: ReplySource): void;
  /** Resolves once this many requests have arrived, with the last of them. */
  arrived(count: number): Promise<Received>;
  openSockets(): number;
  connections(): number;
  close(): Promise<void>;
};

/** A well-formed chat completion, streamed when the request wants a stream. */
function plainChat(received: Received): Script {
  const body = isJsonObject(received.json) ? received.json : {};
  const model = typeof body["model"] === "string" ? body["model"] : "upstream-model";
  if (body["stream"] !== true) return { json: chatJson({ model }) };
  const options = body["stream_options"];
  const usage = isJsonObject(options) && options["include_usage"] === true ? "asked" : "not_asked";
  return { frames: chatFrames(["Hello", " there"], { model, usage }) };
}

/** A real HTTP server on a loopback port, by default a free one, that keeps every request and replies by script. */
export async function startUpstream(first: ReplySource = plainChat, wanted = 0): Promise<Upstream> {
  const requests: Received[] = [];
  const queue: ReplySource[] = [];
  const waiting: { count: number; resolve: (received: Received) => void }[] = [];
  const sockets = new Map<Socket, number>();
  let connections = 0;
  let usual = first;
  const server = createServer({ keepAliveTimeout: 120_000 }, async (request, response) => {
    response.on("error", () => undefined);
    const { received, settle } = await receive(request, response, sockets.get(request.socket) ?? 0);
    requests.push(received);
    for (const waiter of waiting) if (waiter.count === requests.length) waiter.resolve(received);
    const source = queue.shift() ?? usual;
    const script = typeof source === "function" ? source(received) : source;
    await play(script, request.socket, response, settle).catch(() => response.destroy());
  });
  server.on("connection", (socket) => {
    connections += 1;
    sockets.set(socket, connections);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  });
  const port = await listen(server, wanted);
  return {
    url: `http://127.0.0.1:${port}`,
    baseUrl: `http://127.0.0.1:${port}/v1`,
    port,
    requests,
    next: (source) => queue.push(source),
    always(source) {
      usual = source;
    },
    arrived(count) {
      const already = requests[count - 1];
      if (already !== undefined) return Promise.resolve(already);
      return new Promise((resolve) => waiting.push({ count, resolve }));
    },
    openSockets: () => sockets.size,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        // A raw reply removes its socket from the server's own list.
        for (const socket of sockets.keys()) socket.destroy();
      }),
  };
}

/** Below the ephemeral ports of the system, so that no other process gets one of these meanwhile. */
const UNUSED_PORTS = [20_000, 32_000] as const;

/** A port on which nothing listens: connections to it are refused until a test listens there. */
export async function unusedPort(): Promise<number> {
  const server = createTcpServer();
  const port = await listen(server, randomInt(...UNUSED_PORTS)).catch(() => undefined);
  if (port === undefined) return unusedPort();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function listen(server: Server | ReturnType<typeof createTcpServer>, wanted = 0): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(wanted, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

type SettleRequest = (how: "broken") => void;

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  connection: number,
): Promise<{ received: Received; settle: SettleRequest }> {
  const { promise: over, resolve } = Promise.withResolvers<"whole" | "aborted" | "broken">();
  let outcome: "whole" | "aborted" | "broken" | undefined;
  const settle = (how: "whole" | "aborted" | "broken") => {
    outcome ??= how;
    resolve(outcome);
  };
  response.once("close", () => settle(response.writableFinished ? "whole" : "aborted"));
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  } catch {
    settle("aborted");
  }
  const raw = Buffer.concat(chunks);
  let json: { readonly value: unknown } | undefined;
  const received: Received = {
    method: request.method ?? "",
    path: request.url ?? "",
    headers: request.headers,
    rawHeaders: request.rawHeaders,
    raw,
    get json() {
      json ??= { value: parsed(raw) };
      return json.value;
    },
    connection,
    get aborted() {
      return outcome === "aborted";
    },
    over,
  };
  return { received, settle };
}

const [HYPHEN] = Buffer.from("-");

function parsed(raw: Buffer): unknown {
  // The boundary of an upload: its text may have megabytes.
  if (raw[0] === HYPHEN) return undefined;
  try {
    return JSON.parse(raw.toString("utf8"));
  } catch {
    return undefined;
  }
}

async function play(script: Script, socket: Socket, response: ServerResponse, settle: SettleRequest): Promise<void> {
  const { end } = script;
  // There is none yet while the previous response is not known to be written.
  if (response.socket === null) await once(response, "socket");
  if (script.beforeHeadersMs !== undefined) await sleep(script.beforeHeadersMs, undefined, { ref: false });
  await script.gate;
  const breakOff = async () => {
    if (end?.is !== "cut") return;
    settle("broken");
    // Written data is read first, also after a stall of this process: a reset would discard it.
    await sleep(20);
    for (let round = 0; round < 3; round += 1) await turn();
    if (end.how === "rst") socket.resetAndDestroy();
    else socket.end(() => socket.destroy());
  };
  if (end?.after === "before_headers") return breakOff();
  if (script.raw !== undefined) {
    response.detachSocket(socket);
    await written(socket, Buffer.from(script.raw));
    if (end !== undefined) await breakOff();
    return;
  }
  writeHead(script, response);
  if (end?.after === "after_headers") {
    response.flushHeaders();
    return breakOff();
  }
  const limit = end === undefined ? Number.POSITIVE_INFINITY : Number(end.after);
  if ((await writeBody(script, response, limit)) === "limit_reached") return breakOff();
  response.end(() => {
    if (script.idleBytes !== undefined) setTimeout(() => socket.write(script.idleBytes ?? ""), 5);
    if (script.framing === "close") socket.end();
  });
}

function writeHead(script: Script, response: ServerResponse): void {
  const body = wholeBody(script);
  const headers: OutgoingHttpHeaders = {
    "content-type": script.frames === undefined ? "application/json" : "text/event-stream; charset=utf-8",
  };
  if (script.encoding === "gzip") headers["content-encoding"] = "gzip";
  if (script.framing === "close") {
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
  } else if (body !== undefined && script.framing !== "chunked") headers["content-length"] = body.length;
  for (const [name, value] of Object.entries(script.headers ?? {})) headers[name.toLowerCase()] = value;
  response.writeHead(script.status ?? 200, headers);
}

/** The body when it is one piece; undefined when it comes in frames. */
function wholeBody(script: Script): Buffer | undefined {
  if (script.frames !== undefined && script.encoding === undefined) return undefined;
  const plain =
    script.frames !== undefined
      ? Buffer.concat([...script.frames].map((frame) => Buffer.from(dataOf(frame))))
      : Buffer.from(script.json === undefined ? (script.body ?? "") : JSON.stringify(script.json));
  return script.encoding === "gzip" ? gzipSync(plain) : plain;
}

async function writeBody(script: Script, response: ServerResponse, limit: number): Promise<"all" | "limit_reached"> {
  const body = wholeBody(script);
  const frames: Iterable<Frame> = body === undefined ? (script.frames ?? []) : [body];
  let sent = 0;
  for (const frame of frames) {
    const afterMs = typeof frame === "string" || Buffer.isBuffer(frame) ? script.betweenFramesMs : frame.afterMs;
    if (afterMs !== undefined) await sleep(afterMs, undefined, { ref: false });
    if (typeof frame === "object" && "gate" in frame) await frame.gate;
    if (response.destroyed) return "all";
    const bytes = Buffer.from(dataOf(frame)).subarray(0, limit - sent);
    if (script.slices === "bytes") {
      for (let at = 0; at < bytes.length; at += 1) {
        await written(response, bytes.subarray(at, at + 1));
        await turn();
      }
    } else {
      await written(response, bytes);
      // An endless body must yield to the event loop.
      await turn();
    }
    sent += bytes.length;
    if (sent >= limit) return "limit_reached";
  }
  return "all";
}

function dataOf(frame: Frame): string | Buffer {
  return typeof frame === "string" || Buffer.isBuffer(frame) ? frame : frame.data;
}

/** Resolves when the bytes were handed to the system, or the peer has gone. */
function written(to: ServerResponse | Socket, bytes: Buffer): Promise<void> {
  if (bytes.length === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const gone = () => resolve();
    to.once("close", gone);
    to.write(bytes, () => {
      to.removeListener("close", gone);
      resolve();
    });
  });
}
