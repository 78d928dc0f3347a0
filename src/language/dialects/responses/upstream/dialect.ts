import type { DocumentShape } from "../../../../kit/json-structure.ts";
import { effortFor } from "../../../canon/effort.ts";
import { TOOL_NAME_MAX } from "../../tool-names.ts";
import type { CallFeature, UpstreamDialect } from "../../upstream-dialect.ts";
import { FIELDS } from "../fields.ts";
import { dataForProvider } from "../reasoning-signatures.ts";
import { decodeProblem } from "./errors.ts";
import { decodeReply } from "./reply.ts";
import { encodeRequest } from "./request.ts";
import { ResponseReader } from "./stream.ts";
import { IMAGE_DETAILS } from "./turns.ts";

export const REPLY_SHAPE: DocumentShape = { bulk: { members: ["logprobs"] }, read: { member: "output", levels: 6 } };

const LACKS: ReadonlySet<CallFeature> = new Set(["cache_breakpoints"]);

/** The responses API for callers of other dialects; callers of the same dialect use the passthrough adapter. */
export const responsesUpstream: UpstreamDialect = {
  fields: FIELDS,
  surface: "responses",
  media: new Set(["image", "file", "remote_url", "uploaded_file"]),
  toolNameMax: TOOL_NAME_MAX,
  imageDetails: IMAGE_DETAILS,
  lacks: () => LACKS,
  readsReasoning: ({ signature }, { reasoningEncryptedBy }) =>
    dataForProvider(reasoningEncryptedBy ?? null, signature) !== undefined,
  readsCallSignatures: () => false,
  auth: "bearer",
  headers: {},
  framing: "sse",
  path: () => "/responses",
  effort: (call, facts) => (call.reasoning === undefined ? undefined : effortFor(call, facts)),
  encodeRequest: encodeRequest,
  replyShape: REPLY_SHAPE,
  decodeReply: decodeReply,
  openReader: (context) => new ResponseReader(context),
  decodeProblem: decodeProblem,
};
