import { z } from "zod";

/** Where nodes connect to, and what both sides speak there: HTTP/2 over one WebSocket, the gateway asking. */
export const TUNNEL_PATH = "/nodes/connect";
export const PROTOCOL_VERSION = 1;
export const SUBPROTOCOL = `inference-node.v${PROTOCOL_VERSION}`;

/** Paths of the agent that are not the local server's. */
export const ANNOUNCE_PATH = "/.node/announcement";

/** Asked by a gateway that stops while others of its instances go on: the agent connects anew, and finishes what runs here. */
export const MOVE_PATH = "/.node/move";

/** Why the gateway ends a connection, as codes of the WebSocket protocol. Who is told `gone` does not come back. */
export const CLOSE_CODES = {
  replaced: 4001,
  removed: 4002,
  unresponsive: 4003,
  unreadable: 4004,
  stopping: 1012,
} as const;

/** What a node carries of the public API; everything else it is asked for is refused by it. */
export const NODE_PATHS = [
  "/chat/completions",
  "/embeddings",
  "/responses",
  "/audio/speech",
  "/audio/transcriptions",
] as const;

export const MODELS_MAX = 500;
export const SERVER_CHARS_MAX = 64;
const whole = z.int().min(1).max(1_000_000_000).nullable();

/** One model of the local server, as far as it says anything about it. */
export const NodeModel = z.object({
  id: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[\x21-\x7e]+$/),
  surfaces: z
    .array(z.enum(["chat", "embeddings"]))
    .min(1)
    .max(2),
  context_tokens: whole,
  max_output_tokens: whole,
  tools: z.boolean().nullable(),
  json_schema: z.boolean().nullable(),
  image_input: z.boolean().nullable(),
  reasoning: z.boolean().nullable(),
});
export type NodeModel = z.infer<typeof NodeModel>;

/** What a node says of itself; unknown fields of newer agents are left out. */
export const Announcement = z.object({
  protocol: z.literal(PROTOCOL_VERSION),
  agent: z.string().max(64),
  server: z.string().max(SERVER_CHARS_MAX),
  /** Requests it takes at once. */
  capacity: z.int().min(1).max(1024),
  models: z.array(NodeModel).max(MODELS_MAX),
});
export type Announcement = z.infer<typeof Announcement>;

/** The trailer that says that an answer is whole: a reset stream looks like an ended one to whoever reads it. */
export const END_TRAILER = "x-node-end";

/** Told by the agent where the local server gave no answer, so that nobody takes it for the server's. */
export const PROBLEM_HEADER = "x-node-problem";
