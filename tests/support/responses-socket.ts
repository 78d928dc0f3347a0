import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { WebSocket } from "ws";
import type { Json } from "./gateway.ts";

/** A client of the responses API over WebSocket. */
export type SocketClient = {
  readonly ws: WebSocket;
  /** Sends `response.create` with these fields. */
  create(body: Json): void;
  /** The next frame. */
  next(): Promise<Json>;
  /** Frames up to the first one of these types. */
  until(...types: readonly string[]): Promise<Json[]>;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
};

const target = (url: string) => `${url.replace("http", "ws")}/v1/responses`;

export async function openSocket(
  url: string,
  key: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<SocketClient> {
  const ws = new WebSocket(target(url), { headers: { authorization: `Bearer ${key}`, ...headers } });
  const frames: Json[] = [];
  const waiting: ((frame: Json) => void)[] = [];
  ws.on("message", (data) => {
    const frame = JSON.parse(String(data));
    const first = waiting.shift();
    if (first === undefined) frames.push(frame);
    else first(frame);
  });
  const closed = once(ws, "close").then(([code, reason]) => ({ code: Number(code), reason: String(reason) }));
  await once(ws, "open");
  const next = (): Promise<Json> => {
    const frame = frames.shift();
    return frame === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(frame);
  };
  return {
    ws,
    closed,
    next,
    create: (body) => ws.send(JSON.stringify({ type: "response.create", ...body })),
    async until(...types) {
      const read: Json[] = [];
      do read.push(await next());
      while (!types.includes(read.at(-1).type));
      return read;
    },
  };
}

/** A client that resets the connection some turns of the event loop after it sent its handshake. */
export async function abandonedHandshake(turns: number, url: string, key: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const head = [
    "GET /v1/responses HTTP/1.1",
    `host: ${hostname}:${port}`,
    "connection: upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    `authorization: Bearer ${key}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  for (let turn = 0; turn < turns; turn += 1) await nextTurn();
  socket.resetAndDestroy();
}

/** The HTTP response to a handshake that is refused. */
export async function refusedHandshake(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly headers: IncomingMessage["headers"]; readonly body: Json }> {
  const ws = new WebSocket(target(url), { headers });
  const [, response]: unknown[] = await once(ws, "unexpected-response");
  const message = response as IncomingMessage;
  const body = JSON.parse(await text(message));
  return { status: message.statusCode ?? 0, headers: message.headers, body };
}
