import type { UpstreamDialect } from "../../upstream-dialect.ts";
import { FIELDS } from "../fields.ts";
import { decodeProblem } from "./errors.ts";
import { isInTheWay, outputMax, planThinking } from "./reasoning.ts";
import { decodeReply } from "./reply.ts";
import { encodeRequest } from "./request.ts";
import { MessageReader } from "./stream.ts";

/** D2: the messages API. */
export const messagesDialect: UpstreamDialect = {
  fields: FIELDS,
  surface: "messages",
  media: new Set(["image", "file", "remote_url"]),
  toolNameMax: 128,
  auth: "x-api-key",
  headers: { "anthropic-version": "2023-06-01" },
  framing: "sse",
  takesMarks: () => true,
  temperatureMax: 1,
  path: () => "/messages",
  effort: (call, facts) => planThinking(call, facts).received,
  outputMax,
  isInTheWay,
  encode: encodeRequest,
  decodeReply,
  openReader: () => new MessageReader(),
  decodeProblem,
};
