import { parseJsonText, patchMembers } from "../../../../kit/json.ts";
import type { StreamPiece } from "../../../canon/reply.ts";
import { decodeException } from "../../converse/upstream/errors.ts";
import { DAMAGED_FRAME, EXCEPTION_PREFIX } from "../../converse/upstream/frames.ts";
import type { StreamFrame } from "../../upstream-dialect.ts";
import { DirectMessagesStream } from "./stream.ts";

/** What the service adds to the last event for itself: it is no part of the dialect. */
const METRICS = "amazon-bedrock-invocationMetrics";

/** The response stream of InvokeModel: events of this dialect, each packed into a message of a binary event stream. */
export class InvokeModelStream extends DirectMessagesStream {
  override read(frame: StreamFrame): StreamPiece {
    const { event, data } = frame;
    if (event === null || event === DAMAGED_FRAME) return { is: "garbage" };
    if (event.startsWith(EXCEPTION_PREFIX))
      return { is: "problem", problem: decodeException(event.slice(EXCEPTION_PREFIX.length), data) };
    // Other messages than chunks are news that a later version of the service may bring.
    if (event !== "chunk") return { is: "figures" };
    const unpacked = unpackEvent(data);
    return unpacked === undefined ? { is: "garbage" } : super.read({ event: null, data: unpacked });
  }
}

function unpackEvent(payload: string): string | undefined {
  const packed = parseJsonText(payload);
  const bytes = "problem" in packed ? undefined : packed.value["bytes"];
  if (typeof bytes !== "string") return undefined;
  const text = Buffer.from(bytes, "base64").toString("utf8");
  if (!text.includes(METRICS)) return text;
  const event = parseJsonText(text);
  return "problem" in event ? undefined : patchMembers(event, [{ key: METRICS, json: null }]);
}
