import { outputMax } from "../../messages/upstream/reasoning.ts";
import { TOOL_NAME_MAX } from "../../tool-names.ts";
import type { UpstreamDialect } from "../../upstream-dialect.ts";
import { FIELDS } from "../fields.ts";
import { decodeProblem } from "./errors.ts";
import { isInTheWay, planThinking } from "./reasoning.ts";
import { decodeReply } from "./reply.ts";
import { encodeCall, pathOf, takesMarks } from "./request.ts";
import { ConverseReader } from "./stream.ts";

/** Bedrock's Converse and ConverseStream (D4). */
export const converseDialect: UpstreamDialect = {
  fields: FIELDS,
  surface: "chat",
  media: new Set(["image", "audio", "file"]),
  toolNameMax: TOOL_NAME_MAX,
  auth: "bearer",
  headers: {},
  framing: "event-stream",
  takesMarks,
  temperatureMax: 1,
  path: pathOf,
  effort: (call, facts) => planThinking(call, facts).received,
  outputMax,
  isInTheWay,
  encode: encodeCall,
  decodeReply,
  openReader: (asked) => new ConverseReader(asked),
  decodeProblem,
};
