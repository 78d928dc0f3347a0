import { once } from "node:events";
import { WebSocket } from "ws";
import { SUBPROTOCOL, TUNNEL_PATH } from "../../src/io/tunnel/protocol.ts";
import type { Json } from "./gateway.ts";

const [DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY] = [0, 1, 3, 4, 6, 7];
const REFUSED_STREAM = 7;
const [ACK, END_STREAM, END_HEADERS] = [1, 1, 4];
const HEAD_BYTES = 9;
const PREFACE_BYTES = 24;

const ANNOUNCEMENT = {
  protocol: 1,
  agent: "rogue",
  server: "rogue",
  capacity: 8,
  models: [served("tiny", "chat"), served("embed", "embeddings")],
};

function served(id: string, surface: string) {
  const unknown = { context_tokens: null, max_output_tokens: null, tools: null, json_schema: null };
  return { id, surfaces: [surface], ...unknown, image_input: null, reasoning: null };
}

type Fields = readonly (readonly [name: string, value: string])[];

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Each header field as a literal without indexing. */
function block(fields: Fields): Buffer {
  return Buffer.concat(
    fields.map(([name, value]) =>
      Buffer.concat([
        Buffer.from([0, name.length]),
        Buffer.from(name),
        Buffer.from([value.length]),
        Buffer.from(value),
      ]),
    ),
  );
}

function answer(stream: number, fields: Fields, body = "{}"): Buffer {
  return Buffer.concat([
    frame(HEADERS, END_HEADERS, stream, block(fields)),
    frame(DATA, 0, stream, Buffer.from(body)),
    frame(HEADERS, END_HEADERS | END_STREAM, stream, block([["x-node-end", "whole"]])),
  ]);
}

/** How it ends without a reply: with its connection, or by refusing, before or after the response head. */
type Ending = "goes" | "refuses" | "refuses late";

function ending(stream: number, manner: Ending): Buffer {
  // GOAWAY: all earlier streams were processed, and there is no error.
  if (manner === "goes") return frame(GOAWAY, 0, 0, words(stream - 2, 0));
  const reset = frame(RESET, 0, stream, words(REFUSED_STREAM));
  const head = frame(HEADERS, END_HEADERS, stream, block([[":status", "200"]]));
  return manner === "refuses" ? reset : Buffer.concat([head, reset]);
}

function words(...numbers: number[]): Buffer {
  return Buffer.concat(
    numbers.map((number) => {
      const word = Buffer.alloc(4);
      word.writeUInt32BE(number);
      return word;
    }),
  );
}

/** Its reply to a request; undefined: it refuses, like a node without a free slot. */
type ReplyFunction = (body: Json) => Json | undefined;

/**
 * A node that writes raw frames: it replies to every request with a head that no agent can send, or not at all; or with
 * a `Saying`, whatever capacity the node announced.
 */
export async function rogueNode(
  gateway: string,
  token: string,
  head: Fields | Ending | ReplyFunction,
): Promise<{ close(): void }> {
  const ws = new WebSocket(`${gateway.replace("http", "ws")}${TUNNEL_PATH}`, SUBPROTOCOL, {
    headers: { authorization: `Bearer ${token}` },
  });
  let unread = Buffer.alloc(0);
  let isGreeted = false;
  const bodies = new Map<number, string>();
  const onData = (stream: number, text: string, isAll: boolean) => {
    if (typeof head !== "function") return;
    const body = `${bodies.get(stream) ?? ""}${text}`;
    bodies.set(stream, body);
    if (!isAll) return;
    const reply = head(JSON.parse(body));
    const fields: Fields = [[":status", "200"]];
    ws.send(reply === undefined ? ending(stream, "refuses") : answer(stream, fields, JSON.stringify(reply)));
  };
  ws.on("message", (data) => {
    if (!Buffer.isBuffer(data)) return;
    unread = Buffer.concat([unread, data]);
    if (!isGreeted) {
      if (unread.length < PREFACE_BYTES) return;
      unread = unread.subarray(PREFACE_BYTES);
      isGreeted = true;
      ws.send(frame(SETTINGS, 0, 0, Buffer.alloc(0)));
    }
    while (unread.length >= HEAD_BYTES && unread.length >= HEAD_BYTES + unread.readUIntBE(0, 3)) {
      const end = HEAD_BYTES + unread.readUIntBE(0, 3);
      const [type, flags, stream] = [unread.readUInt8(3), unread.readUInt8(4), unread.readUInt32BE(5)];
      const payload = Buffer.from(unread.subarray(HEAD_BYTES, end));
      unread = unread.subarray(end);
      if (type === SETTINGS && (flags & ACK) === 0) ws.send(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
      if (type === PING && (flags & ACK) === 0) ws.send(frame(PING, ACK, 0, payload));
      // A request without a body lists the models.
      if (type === HEADERS && (flags & END_STREAM) !== 0)
        ws.send(answer(stream, [[":status", "200"]], JSON.stringify(ANNOUNCEMENT)));
      else if (type === DATA) onData(stream, payload.toString(), (flags & END_STREAM) !== 0);
      else if (type === HEADERS && typeof head !== "function")
        ws.send(typeof head === "string" ? ending(stream, head) : answer(stream, head));
    }
  });
  await once(ws, "open");
  return { close: () => ws.terminate() };
}
