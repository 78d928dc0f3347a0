import type { ChatRequest } from "../../../contract/schemas/chat.ts";
import type { MemberPatch } from "../../../kit/json.ts";

/** It refuses answers that are sent back with more than words and calls, thoughts that it was itself heard to think too. */
const PLAIN_HISTORY = "plain-history";
const BESIDES: ReadonlySet<string> = new Set(["reasoning_content", "reasoning_details", "annotations", "audio"]);

/** Answers come back as they were given: what a server refuses of them stays here, where there is any of it. */
export function historyPatches({ messages }: ChatRequest, quirks: readonly string[]): MemberPatch[] {
  if (!quirks.includes(PLAIN_HISTORY)) return [];
  const plain = messages.map((message) => {
    const entries = Object.entries(message);
    const kept = entries.filter(([key, value]) => !BESIDES.has(key) && !(key === "refusal" && value === null));
    return kept.length === entries.length ? message : Object.fromEntries(kept);
  });
  return plain.every((message, at) => message === messages[at])
    ? []
    : [{ key: "messages", json: JSON.stringify(plain) }];
}
