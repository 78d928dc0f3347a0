import { isJsonObject } from "../../../../kit/json.ts";
import { NO_PLACES } from "../../../canon/places.ts";
import type { UnusableReply, WholeReply } from "../../../canon/reply.ts";
import { OmissionLog } from "../../reply-members.ts";
import { CONTENT } from "../upstream/members.ts";

export type MaybeReply = WholeReply | UnusableReply;

export const ONLY_OMITTED_CONTENT: UnusableReply = {
  unusable: "the response has only content that the caller's API cannot express",
};

/** Parts that are lost when content is flattened to text; undefined if no content is a list. */
export function omittedContent(
  choices: readonly unknown[],
  form: "message" | "delta",
  log?: OmissionLog,
): OmissionLog | undefined {
  let omissions = log;
  for (const choice of choices) {
    const message = isJsonObject(choice) ? choice[form] : undefined;
    if (!isJsonObject(message) || !Array.isArray(message["content"])) continue;
    omissions ??= new OmissionLog(NO_PLACES);
    omissions.check(message["content"], CONTENT, "choices[].message.content");
  }
  return omissions;
}

/** A reply of nothing else is no empty success. */
export function withOmissions(
  reply: WholeReply & { omitted: readonly string[] | undefined },
  choices: readonly unknown[],
): MaybeReply {
  const omissions = omittedContent(choices, "message");
  if (omissions?.hasContent === true && reply.outputWeight === 0) return ONLY_OMITTED_CONTENT;
  reply.omitted = omissions?.paths;
  return reply;
}
