import { tryParseJson } from "../../../../kit/json.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { ReplyContext } from "../../upstream-dialect.ts";
import { GeminiReader } from "./stream.ts";

/** A whole answer as the events it consists of; undefined when it is not one. */
export function decodeReply(bytes: Buffer, asked?: ReplyContext): readonly ReplyEvent[] | undefined {
  const events = new GeminiReader(asked).readValue(tryParseJson(bytes));
  // An answer in one piece that does not say how it ended is not whole.
  return events?.some(({ is }) => is === "finish" || is === "problem") === true ? events : undefined;
}
