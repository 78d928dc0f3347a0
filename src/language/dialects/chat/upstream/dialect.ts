import type { DocumentShape } from "../../../../kit/json-structure.ts";
import { effortFor } from "../../../canon/effort.ts";
import { TOOL_NAME_MAX } from "../../tool-names.ts";
import type { CallFeature, UpstreamDialect } from "../../upstream-dialect.ts";
import { FIELDS } from "../fields.ts";
import { decodeProblem } from "./errors.ts";
import { IMAGE_DETAILS } from "./media.ts";
import { decodeReply } from "./reply.ts";
import { encodeRequest } from "./request.ts";
import { ChatReader } from "./stream.ts";
import { REASONING_IN_HISTORY, SIGNED_TOOL_CALLS } from "./turns.ts";

const LACKS: ReadonlySet<CallFeature> = new Set(["cache_breakpoints"]);

export const REPLY_SHAPE: DocumentShape = {
  bulk: { members: ["logprobs", "images", "audio"] },
  read: { member: "choices", levels: 6 },
};

/** Chat completions (D1) for callers of other dialects; callers of the same dialect use the passthrough adapter. */
export const chatUpstream: UpstreamDialect = {
  fields: FIELDS,
  surface: "chat",
  media: new Set(["image", "audio", "file", "remote_url", "uploaded_file"]),
  toolNameMax: TOOL_NAME_MAX,
  imageDetails: IMAGE_DETAILS,
  lacks: () => LACKS,
  readsReasoning: ({ is }, { quirks }) => is === "readable" && quirks.includes(REASONING_IN_HISTORY),
  readsCallSignatures: ({ quirks }) => quirks.includes(SIGNED_TOOL_CALLS),
  auth: "bearer",
  headers: {},
  framing: "sse",
  path: () => "/chat/completions",
  encodeRequest: encodeRequest,
  effort: (call, facts) => (call.reasoning === undefined ? undefined : effortFor(call, facts)),
  replyShape: REPLY_SHAPE,
  decodeReply,
  openReader: (context) => new ChatReader("delta", context),
  decodeProblem,
};
