import type { AnswerEvent } from "../../canon/events.ts";
import { ChunkReader } from "./stream.ts";

/** A whole answer as the events it consists of; undefined when it is not one. */
export function decodeReply(bytes: Buffer): readonly AnswerEvent[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
  const events = new ChunkReader().readValue(value);
  // An answer in one piece that does not say how it ended is not whole.
  return events?.some(({ is }) => is === "finish" || is === "problem") === true ? events : undefined;
}
