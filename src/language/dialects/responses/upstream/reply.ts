import { parseJsonObject } from "../../../../kit/json.ts";
import type { AnswerEvent } from "../../../canon/reply-events.ts";
import type { Asked } from "../../upstream-dialect.ts";
import { ItemReader } from "./stream.ts";

/** A whole answer, read as a stream whose items open complete; undefined when it is none. */
export function decodeWhole(bytes: Buffer, asked?: Asked): readonly AnswerEvent[] | undefined {
  const body = parseJsonObject(bytes);
  return "problem" in body ? undefined : new ItemReader(asked?.facts.sealedBy ?? null).end(body.value, "completed");
}
