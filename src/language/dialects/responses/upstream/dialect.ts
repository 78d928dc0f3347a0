import { effortFor } from "../../../canon/effort.ts";
import { TOOL_NAME_MAX } from "../../tool-names.ts";
import type { UpstreamDialect } from "../../upstream-dialect.ts";
import { FIELDS } from "../fields.ts";
import { decodeProblem } from "./errors.ts";
import { decodeReply } from "./reply.ts";
import { encodeRequest } from "./request.ts";
import { ResponseReader } from "./stream.ts";
import { IMAGE_DETAILS } from "./turns.ts";

/** The responses API for callers of other dialects; callers of the same dialect use the passthrough adapter. */
export const responsesUpstream: UpstreamDialect = {
  fields: FIELDS,
  surface: "responses",
  media: new Set(["image", "file", "remote_url", "uploaded_file"]),
  toolNameMax: TOOL_NAME_MAX,
  imageDetails: IMAGE_DETAILS,
  auth: "bearer",
  headers: {},
  framing: "sse",
  path: () => "/responses",
  effort: (call, facts) => (call.reasoning === undefined ? undefined : effortFor(call, facts)),
  encodeRequest: encodeRequest,
  decodeReply: decodeReply,
  openReader: (context) => new ResponseReader(context?.facts.reasoningEncryptedBy ?? null),
  decodeProblem: decodeProblem,
};
