import type { DocumentShape } from "../../../../kit/json-structure.ts";
import type { CallFeature, UpstreamDialect } from "../../upstream-dialect.ts";
import { FIELDS } from "../fields.ts";
import { decodeProblem } from "./errors.ts";
import { conflictsWithEffort, outputTokensMax, planReasoning } from "./reasoning.ts";
import { decodeReply } from "./reply.ts";
import { encodeRequest } from "./request.ts";
import { MessageReader } from "./stream.ts";

export const REPLY_SHAPE: DocumentShape = { read: { member: "content", levels: 4 } };

const NOTHING: ReadonlySet<CallFeature> = new Set();

/** The messages API (D2). */
export const messagesUpstream: UpstreamDialect = {
  fields: FIELDS,
  surface: "messages",
  media: new Set(["image", "file", "remote_url"]),
  toolNameMax: 128,
  auth: "x-api-key",
  headers: { "anthropic-version": "2023-06-01" },
  framing: "sse",
  lacks: () => NOTHING,
  readsReasoning: ({ signature }) => signature?.family === "anthropic",
  readsCallSignatures: () => false,
  temperatureMax: 1,
  path: () => "/messages",
  effort: (call, facts) => planReasoning(call, facts).effectiveEffort,
  outputTokensMax,
  conflictsWithEffort,
  encodeRequest: encodeRequest,
  numbers: "lossless",
  replyShape: REPLY_SHAPE,
  decodeReply,
  openReader: (context) => new MessageReader(context),
  decodeProblem,
};
