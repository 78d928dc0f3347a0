import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { FinishEvent, ReplyClosing } from "../../client-dialect.ts";
import type { ResponseWriter } from "./stream.ts";

/** A whole response object: the one that a client would assemble from the stream. */
export function renderReply(
  writer: ResponseWriter,
  events: readonly ReplyEvent[],
  { usage, cost }: Pick<ReplyClosing, "usage" | "cost">,
): string {
  let finish: FinishEvent | undefined;
  for (const event of events) {
    if (event.is === "finish") finish = event;
    else writer.write(event);
  }
  return writer.whole({ finish, usage, cost });
}
