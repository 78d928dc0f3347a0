import { z } from "zod";
import { NODE_SURFACES } from "../../domain/tenancy/node.ts";

/** Nodes open a WebSocket here; it carries HTTP/2 with the gateway as the client. */
export const TUNNEL_PATH = "/nodes/connect";
export const PROTOCOL_VERSION = 1;
export const SUBPROTOCOL = `inference-node.v${PROTOCOL_VERSION}`;

/** The agent's own path for its announcement. */
export const ANNOUNCE_PATH = "/.node/announcement";

/** Requested by a stopping instance: the agent opens another connection and finishes running requests on this one. */
export const MOVE_PATH = "/.node/move";

/** WebSocket close codes of the gateway. After `removed` the agent does not reconnect. */
export const CLOSE_CODES = {
  replaced: 4001,
  removed: 4002,
  unresponsive: 4003,
  unreadable: 4004,
  stopping: 1012,
} as const;

/** The paths of the public API that a node serves; it rejects all others. */
export const NODE_PATHS = [
  "/chat/completions",
  "/embeddings",
  "/rerank",
  "/images/generations",
  "/images/edits",
  "/images/variations",
  "/responses",
  "/audio/speech",
  "/audio/transcriptions",
] as const;

export const MODELS_MAX = 500;
export const SERVER_CHARS_MAX = 64;
const optionalCount = z.int().min(1).max(1_000_000_000).nullable();

/** One model of the local server; null: the server does not say. */
export const NodeModel = z.object({
  id: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[\x21-\x7e]+$/),
  surfaces: z.array(z.enum(NODE_SURFACES)).min(1).max(NODE_SURFACES.length),
  context_tokens: optionalCount,
  max_output_tokens: optionalCount,
  tools: z.boolean().nullable(),
  json_schema: z.boolean().nullable(),
  image_input: z.boolean().nullable(),
  reasoning: z.boolean().nullable(),
});
export type NodeModel = z.infer<typeof NodeModel>;

/** What a node announces about itself. Unknown fields of newer agents are ignored. */
export const Announcement = z.object({
  protocol: z.literal(PROTOCOL_VERSION),
  agent: z.string().max(64),
  server: z.string().max(SERVER_CHARS_MAX),
  /** Concurrent requests. */
  capacity: z.int().min(1).max(1024),
  models: z.array(NodeModel).max(MODELS_MAX),
});
export type Announcement = z.infer<typeof Announcement>;

/** The trailer of a complete response: without it, a reset stream would look like an ended one. */
export const END_TRAILER = "x-node-end";

/** Marks a response of the agent itself, when the local server gave none. */
export const PROBLEM_HEADER = "x-node-problem";
