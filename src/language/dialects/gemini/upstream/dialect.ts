import { TOOL_NAME_MAX } from "../../tool-names.ts";
import type { UpstreamDialect } from "../../upstream-dialect.ts";
import { FIELDS } from "../fields.ts";
import { decodeProblem } from "./errors.ts";
import { effectiveEffort } from "./reasoning.ts";
import { decodeReply } from "./reply.ts";
import { encodePath, encodeRequest } from "./request.ts";
import { GeminiReader } from "./stream.ts";

/** Gemini's generateContent and streamGenerateContent (D3). */
export const geminiUpstream: UpstreamDialect = {
  fields: FIELDS,
  surface: "chat",
  // Gemini does not fetch media URLs.
  media: new Set(["image", "audio", "file"]),
  toolNameMax: TOOL_NAME_MAX,
  auth: "x-goog-api-key",
  headers: {},
  framing: "sse",
  path: encodePath,
  effort: ({ reasoning }, facts) => (reasoning === undefined ? undefined : effectiveEffort(reasoning.effort, facts)),
  encodeRequest: encodeRequest,
  decodeReply,
  openReader: (context) => new GeminiReader(context),
  decodeProblem,
};
