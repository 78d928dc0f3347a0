import type { DocumentShape } from "../../../../kit/json-structure.ts";
import { TOOL_NAME_MAX } from "../../tool-names.ts";
import type { CallFeature, UpstreamDialect } from "../../upstream-dialect.ts";
import { FIELDS } from "../fields.ts";
import { decodeProblem } from "./errors.ts";
import { effectiveEffort } from "./reasoning.ts";
import { decodeReply } from "./reply.ts";
import { encodePath, encodeRequest } from "./request.ts";
import { GeminiReader } from "./stream.ts";

const REPLY_SHAPE: DocumentShape = { read: { member: "candidates", levels: 6 } };

const LACKS: ReadonlySet<CallFeature> = new Set(["cache_breakpoints", "file_name", "strict_tools"]);

/** Gemini's generateContent and streamGenerateContent (D3). */
export const geminiUpstream: UpstreamDialect = {
  fields: FIELDS,
  surface: "chat",
  // Gemini does not fetch media URLs.
  media: new Set(["image", "audio", "file"]),
  toolNameMax: TOOL_NAME_MAX,
  lacks: () => LACKS,
  readsReasoning: ({ signature }) => signature?.family === "google",
  readsCallSignatures: () => true,
  auth: "x-goog-api-key",
  headers: {},
  framing: "sse",
  path: encodePath,
  effort: ({ reasoning }, facts) => (reasoning === undefined ? undefined : effectiveEffort(reasoning.effort, facts)),
  encodeRequest: encodeRequest,
  replyShape: REPLY_SHAPE,
  decodeReply,
  openReader: (context) => new GeminiReader(context),
  decodeProblem,
};
