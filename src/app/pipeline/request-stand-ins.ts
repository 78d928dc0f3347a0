import { createHash } from "node:crypto";
import type { Kind } from "../../domain/data-classes/kinds.ts";
import { KnownTexts } from "../../domain/data-classes/known-texts.ts";
import { StandIns } from "../../domain/data-classes/stand-ins.ts";
import { isJsonObject } from "../../kit/json.ts";
import { isSignedMember, isSignedReasoning } from "./restore-value.ts";

/** What stand-ins are derived from, besides the original. */
type Origin = { readonly key: Buffer; readonly conversation: string };

/** What making a stand-in costs, measured in characters. */
const STAND_IN_CHARS = 2_048;
/** Of more findings none is imitated: 100,000 would take seconds. */
const IMITATED_MAX = 10_000;

/** Stand-ins for what was found in a request, none of which occurs in it. Yields the work done in characters. */
export function* standInsFor(
  found: ReadonlyMap<string, Kind>,
  texts: readonly string[],
  { key, conversation }: Origin,
): Generator<number, StandIns> {
  const taken = new Set<string>();
  for (;;) {
    const standIns = new StandIns(key, conversation, (text) => taken.has(text));
    if (found.size > IMITATED_MAX) standIns.completed();
    for (const [original, kind] of found) {
      standIns.for(kind, original);
      yield STAND_IN_CHARS;
    }
    const before = taken.size;
    const candidates = yield* KnownTexts.build(standIns.kinds);
    for (const text of texts)
      for (const { start, end } of yield* candidates.in(text)) taken.add(text.slice(start, end));
    if (taken.size === before) return standIns.completed();
  }
}

/** Every text and name of a member of a request, without the reasoning that a provider signed: it holds the stand-ins of earlier turns. */
export function* visibleTexts(content: unknown): Generator<string> {
  if (typeof content === "string") yield content;
  else if (Array.isArray(content)) for (const item of content) yield* visibleTexts(item);
  else if (isJsonObject(content) && !isSignedReasoning(content))
    for (const [name, value] of Object.entries(content)) {
      yield name;
      if (!isSignedMember(name)) yield* visibleTexts(value);
    }
}

/**
 * The caller's own name for the conversation, or its first user message, which every later request repeats; a stored
 * conversation is read from its first response on.
 */
export function conversationOf(content: unknown, sessionId: string | undefined): string {
  if (sessionId !== undefined) return `session ${sessionId}`;
  const first = isJsonObject(content)
    ? firstUserMessage(content["messages"] ?? content["input"] ?? content["contents"])
    : undefined;
  return createHash("sha256")
    .update(JSON.stringify([...ownTexts(first ?? content)]))
    .digest("base64");
}

/** Clients move their cache markers from turn to turn, and write a text as a string or as a part. */
function* ownTexts(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const item of value) yield* ownTexts(item);
  else if (isJsonObject(value))
    for (const [name, member] of Object.entries(value))
      if (name !== "cache_control" && name !== "type") yield* ownTexts(member);
}

function firstUserMessage(turns: unknown): unknown {
  if (!Array.isArray(turns)) return turns;
  // In the Gemini dialect a turn without a role is the user's.
  const first = turns.find(
    (turn) => isJsonObject(turn) && (turn["role"] ?? ("parts" in turn ? "user" : "")) === "user",
  );
  return isJsonObject(first) ? (first["content"] ?? first["parts"]) : undefined;
}
