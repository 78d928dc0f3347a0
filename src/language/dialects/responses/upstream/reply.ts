import { JsonDocument, type JsonSource } from "../../../../kit/json-document.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { ReplyContext } from "../../upstream-dialect.ts";
import { ResponseReader } from "./stream.ts";

/** Decoded like a stream whose items open complete; undefined if it is not a reply. */
export function decodeReply(source: JsonSource, context?: ReplyContext): readonly ReplyEvent[] | undefined {
  const { body } = JsonDocument.of(source);
  return "problem" in body ? undefined : new ResponseReader(context).whole(body.value);
}
