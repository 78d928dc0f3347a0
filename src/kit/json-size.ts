import { JsonSpan, stringifyWithSpans } from "./json-span.ts";

/** Characters of generated text that one turn of the event loop translates. Models generate far less. */
export const REPLY_TEXT_MAX = 2 * 1024 * 1024;
/** The same for one stream event, and for the arguments of one tool call. */
export const EVENT_TEXT_MAX = 1024 * 1024;

/** A reply has more text than one turn of the event loop can translate. */
export class OversizedTextError extends Error {
  constructor(maxChars: number, what: string) {
    super(`${what} has more than ${maxChars} characters`);
    this.name = "OversizedText";
  }
}

/** About the length of a value's JSON text, without spans; the count stops above `max`. */
export function jsonChars(value: unknown, max: number): number {
  const containers: object[] = [];
  let chars = 0;
  const add = (inner: unknown) => {
    if (typeof inner === "string") chars += inner.length + QUOTES_CHARS;
    else if (typeof inner !== "object" || inner === null) chars += NUMBER_CHARS;
    else if (!(inner instanceof JsonSpan)) containers.push(inner);
  };
  add(value);
  for (let next = containers.pop(); next !== undefined && chars <= max; next = containers.pop()) {
    chars += QUOTES_CHARS;
    if (Array.isArray(next)) for (const item of next) add(item);
    else
      for (const [key, member] of Object.entries(next)) {
        chars += key.length + QUOTES_CHARS;
        add(member);
      }
  }
  return chars;
}

/** With the comma or colon after it. */
const QUOTES_CHARS = 3;
/** On the safe side for most numbers. */
const NUMBER_CHARS = 8;

/** Measures the JSON text of a value; of a very long one, only its length. */
export function measureJson(value: unknown, measure: (text: string) => number): number {
  const chars = jsonChars(value, EVENT_TEXT_MAX);
  return chars > EVENT_TEXT_MAX ? chars : measure(JSON.stringify(value));
}

/** JSON text of a tool call's arguments; throws if they are too long. */
export function stringifyArguments(value: unknown): string {
  if (jsonChars(value, EVENT_TEXT_MAX) > EVENT_TEXT_MAX) throw new OversizedTextError(EVENT_TEXT_MAX, "a tool call");
  return stringifyWithSpans(value);
}

/** JSON text of a part of a reply that the gateway rewrites; throws if it is too long. */
export function stringifyRewritten(value: unknown): string {
  if (jsonChars(value, REPLY_TEXT_MAX) > REPLY_TEXT_MAX)
    throw new OversizedTextError(REPLY_TEXT_MAX, "a reply that does not conform to its dialect");
  return stringifyWithSpans(value);
}
