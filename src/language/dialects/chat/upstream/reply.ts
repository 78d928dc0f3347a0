import { isJsonObject } from "../../../../kit/json.ts";
import { JsonDocument, type JsonSource } from "../../../../kit/json-document.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { ReplyContext } from "../../upstream-dialect.ts";
import { problemInChunk } from "./errors.ts";
import { ChatReader } from "./stream.ts";

/** Undefined if the bytes are not a reply of this dialect. */
export function decodeReply(source: JsonSource, context?: ReplyContext): readonly ReplyEvent[] | undefined {
  const parsed = JsonDocument.of(source).body;
  if ("problem" in parsed) return undefined;
  const body = parsed.value;
  const { choices } = body;
  const isAnswer =
    Array.isArray(choices) && choices.some((choice) => isJsonObject(choice) && isJsonObject(choice["message"]));
  if (!isAnswer && problemInChunk(body, null) === undefined) return undefined;
  const reader = new ChatReader("message", context);
  const events = reader.readChunk(body, null);
  if (events === undefined || events.some(({ is }) => is === "problem")) return events;
  const endEvents = reader.end();
  // A whole reply is complete even without content and finish reason.
  const finish: ReplyEvent[] = [...events, ...endEvents].some(({ is }) => is === "finish")
    ? []
    : [{ is: "finish", reason: "stop" }];
  return [...events, ...endEvents.slice(0, -1), ...finish, { is: "end" }];
}
