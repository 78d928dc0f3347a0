import { parseJsonObject } from "../../../../kit/json.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { ReplyContext } from "../../upstream-dialect.ts";
import { ResponseReader } from "./stream.ts";

/** Decoded like a stream whose items open complete; undefined if it is not a reply. */
export function decodeReply(bytes: Buffer, context?: ReplyContext): readonly ReplyEvent[] | undefined {
  const body = parseJsonObject(bytes);
  return "problem" in body ? undefined : new ResponseReader(context).whole(body.value);
}
