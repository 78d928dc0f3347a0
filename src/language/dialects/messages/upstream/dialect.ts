import type { UpstreamDialect } from "../../upstream-dialect.ts";
import { FIELDS } from "../fields.ts";
import { decodeProblem } from "./errors.ts";
import { conflictsWithEffort, outputTokensMax, planReasoning } from "./reasoning.ts";
import { decodeReply } from "./reply.ts";
import { encodeRequest } from "./request.ts";
import { MessageReader } from "./stream.ts";

/** The messages API (D2). */
export const messagesUpstream: UpstreamDialect = {
  fields: FIELDS,
  surface: "messages",
  media: new Set(["image", "file", "remote_url"]),
  toolNameMax: 128,
  auth: "x-api-key",
  headers: { "anthropic-version": "2023-06-01" },
  framing: "sse",
  supportsCacheBreakpoints: () => true,
  temperatureMax: 1,
  path: () => "/messages",
  effort: (call, facts) => planReasoning(call, facts).effectiveEffort,
  outputTokensMax,
  conflictsWithEffort,
  encodeRequest: encodeRequest,
  decodeReply,
  openReader: () => new MessageReader(),
  decodeProblem,
};
