import { effortFor } from "../../../canon/effort.ts";
import { TOOL_NAME_MAX } from "../../tool-names.ts";
import type { UpstreamDialect } from "../../upstream-dialect.ts";
import { FIELDS } from "../fields.ts";
import { decodeProblem } from "./errors.ts";
import { IMAGE_DETAILS } from "./media.ts";
import { decodeReply } from "./reply.ts";
import { encodeRequest } from "./request.ts";
import { ChatReader } from "./stream.ts";

/** Chat completions (D1) for callers of other dialects; callers of the same dialect use the passthrough adapter. */
export const chatUpstream: UpstreamDialect = {
  fields: FIELDS,
  surface: "chat",
  media: new Set(["image", "audio", "file", "remote_url", "uploaded_file"]),
  toolNameMax: TOOL_NAME_MAX,
  imageDetails: IMAGE_DETAILS,
  auth: "bearer",
  headers: {},
  framing: "sse",
  path: () => "/chat/completions",
  encodeRequest: encodeRequest,
  effort: (call, facts) => (call.reasoning === undefined ? undefined : effortFor(call, facts)),
  decodeReply,
  openReader: (context) => new ChatReader("delta", context),
  decodeProblem,
};
