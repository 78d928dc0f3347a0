import { createHash } from "node:crypto";
import type { Kind } from "../../domain/data-classes/kinds.ts";
import { KnownTexts } from "../../domain/data-classes/known-texts.ts";
import { StandIns } from "../../domain/data-classes/stand-ins.ts";
import { isJsonObject } from "../../kit/json.ts";
import { isSignedMember, isSignedReasoning } from "./restore-reply.ts";

/** What stand-ins are derived from, besides the original. */
type Origin = { readonly key: Buffer; readonly conversation: string };

/** Stand-ins for what was found in a request, none of which occurs in it. Yields the work done in characters. */
export function* standInsFor(
  found: ReadonlyMap<string, Kind>,
  texts: readonly string[],
  { key, conversation }: Origin,
): Generator<number, StandIns> {
  const taken = new Set<string>();
  for (;;) {
    const standIns = new StandIns(key, conversation, (text) => taken.has(text));
    for (const [original, kind] of found) {
      standIns.for(kind, original);
      yield original.length;
    }
    const before = taken.size;
    const candidates = new KnownTexts(standIns.kinds);
    for (const text of texts)
      for (const { start, end } of yield* candidates.in(text)) taken.add(text.slice(start, end));
    if (taken.size === before) return standIns.checkWith((text) => texts.some((own) => own.includes(text)));
  }
}

/** Every text of a request, without the reasoning that a provider signed: it holds the stand-ins of earlier turns. */
export function* visibleTexts(content: unknown): Generator<string> {
  if (typeof content === "string") yield content;
  else if (Array.isArray(content)) for (const item of content) yield* visibleTexts(item);
  else if (isJsonObject(content) && !isSignedReasoning(content))
    for (const [name, value] of Object.entries(content)) if (!isSignedMember(name)) yield* visibleTexts(value);
}

/**
 * The caller's own name for the conversation, or its first user message, which every later request repeats; a stored
 * conversation is read from its first response on.
 */
export function conversationOf(content: unknown, sessionId: string | undefined): string {
  if (sessionId !== undefined) return `session ${sessionId}`;
  const first = isJsonObject(content) ? firstUserMessage(content["messages"] ?? content["input"]) : undefined;
  return createHash("sha256")
    .update(JSON.stringify(first ?? content ?? null))
    .digest("base64");
}

function firstUserMessage(turns: unknown): unknown {
  if (!Array.isArray(turns)) return turns;
  const first = turns.find((turn) => isJsonObject(turn) && turn["role"] === "user");
  return isJsonObject(first) ? first["content"] : undefined;
}
