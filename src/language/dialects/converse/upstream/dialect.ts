import type { DocumentShape } from "../../../../kit/json-structure.ts";
import { outputTokensMax } from "../../messages/upstream/reasoning.ts";
import { TOOL_NAME_MAX } from "../../tool-names.ts";
import type { UpstreamDialect } from "../../upstream-dialect.ts";
import { FIELDS } from "../fields.ts";
import { decodeProblem } from "./errors.ts";
import { conflictsWithEffort, planReasoning, readsClaudeSignatures } from "./reasoning.ts";
import { decodeReply } from "./reply.ts";
import { CACHE_POINTS_MAX, encodePath, encodeRequest, lacks } from "./request.ts";
import { ConverseReader } from "./stream.ts";

const REPLY_SHAPE: DocumentShape = { read: { member: "output", levels: 5 } };

/** Bedrock's Converse and ConverseStream (D4). */
export const converseUpstream: UpstreamDialect = {
  fields: FIELDS,
  surface: "chat",
  media: new Set(["image", "audio", "file"]),
  toolNameMax: TOOL_NAME_MAX,
  auth: "bearer",
  headers: {},
  framing: "event-stream",
  lacks,
  cacheBreakpointsMax: CACHE_POINTS_MAX,
  readsReasoning: ({ signature }, facts) => readsClaudeSignatures(facts) && signature?.family === "anthropic",
  readsCallSignatures: () => false,
  temperatureMax: 1,
  path: encodePath,
  effort: (call, facts) => planReasoning(call, facts).effectiveEffort,
  outputTokensMax,
  conflictsWithEffort,
  encodeRequest: encodeRequest,
  numbers: "lossless",
  replyShape: REPLY_SHAPE,
  decodeReply,
  openReader: (context) => new ConverseReader(context),
  decodeProblem,
};
