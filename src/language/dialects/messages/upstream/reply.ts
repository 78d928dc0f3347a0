import { JsonDocument, type JsonSource } from "../../../../kit/json-document.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { ReplyContext } from "../../upstream-dialect.ts";
import { WireMessage } from "../wire.ts";
import { MessageReader } from "./stream.ts";

/** Decoded like a stream whose blocks open complete. */
export function decodeReply(source: JsonSource, context?: ReplyContext): readonly ReplyEvent[] | undefined {
  // Lossless parsing keeps the numbers in arguments as the model wrote them.
  const body = JsonDocument.of(source).lossless('"tool_use"');
  const message = WireMessage.safeParse(body);
  if (!message.success) return undefined;
  const reader = new MessageReader(context);
  const { content, id, usage, ...rest } = message.data;
  const events: ReplyEvent[] = [...(reader.begin({ id }) ?? [])];
  for (const [index, block] of content.entries()) {
    const opened = reader.open(index, block);
    if (opened === undefined) return undefined;
    events.push(...opened, ...reader.close(index));
  }
  return [...events, ...reader.readUsage(usage), ...reader.stop(rest), ...reader.omitted(body), ...reader.end()];
}
