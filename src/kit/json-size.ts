import { JsonSpan, stringifyWithSpans } from "./json-span.ts";

/** Characters of generated text that are translated or rewritten, because one turn of the event loop does it. */
export type TextLimits = {
  readonly replyChars: number;
  /** Of one stream event, and of the arguments of one tool call. */
  readonly eventChars: number;
  /** Settings of these limits, for messages; absent: the limits are fixed. */
  readonly settings?: { readonly reply: string; readonly event: string };
};

/** Models generate far less. */
export const TEXT_LIMITS: TextLimits = { replyChars: 1024 * 1024, eventChars: 1024 * 1024 };

/** Members and items of all tool calls of a reply that is translated: one turn of the event loop reads them. */
export const CALL_MEMBERS_MAX = 32_000;

/** A reply has more than one turn of the event loop can translate. */
export class OversizedTextError extends Error {
  constructor(max: number, what: string, setting: string | undefined, unit = "characters") {
    super(`${what} has more than ${max} ${unit}${inParentheses(setting)}`);
    this.name = "OversizedText";
  }
}

/** More members and items than a translated reply may have in its tool calls. */
export const oversizedCall = () =>
  new OversizedTextError(CALL_MEMBERS_MAX, "a tool call", undefined, "members and items");

/** A setting beside the limit that it raises. */
export const inParentheses = (setting: string | undefined) => (setting === undefined ? "" : ` (${setting})`);

/** About the length of a value's JSON text, without spans; the count stops above `max`. */
export function jsonChars(value: unknown, max: number): number {
  return jsonSize(value, max, Number.POSITIVE_INFINITY).chars;
}

/** The same with the number of values; it stops above either. */
function jsonSize(value: unknown, max: number, valuesMax: number): { readonly chars: number; readonly values: number } {
  const containers: object[] = [];
  let chars = 0;
  let values = 0;
  const add = (inner: unknown) => {
    values += 1;
    if (typeof inner === "string") chars += inner.length + QUOTES_CHARS;
    else if (typeof inner !== "object" || inner === null) chars += NUMBER_CHARS;
    else if (!(inner instanceof JsonSpan)) containers.push(inner);
  };
  add(value);
  for (
    let next = containers.pop();
    next !== undefined && chars <= max && values <= valuesMax;
    next = containers.pop()
  ) {
    chars += QUOTES_CHARS;
    if (Array.isArray(next)) for (const item of next) add(item);
    else
      for (const [key, member] of Object.entries(next)) {
        chars += key.length + QUOTES_CHARS;
        add(member);
      }
  }
  return { chars, values };
}

/** With the comma or colon after it. */
const QUOTES_CHARS = 3;
/** On the safe side for most numbers. */
const NUMBER_CHARS = 8;

const MEASURED_CHARS_MAX = 1024 * 1024;

/** Measures the JSON text of a value; of a very long one, only its length. */
export function measureJson(value: unknown, measure: (text: string) => number): number {
  const chars = jsonChars(value, MEASURED_CHARS_MAX);
  return chars > MEASURED_CHARS_MAX ? chars : measure(JSON.stringify(value));
}

/** JSON text of a tool call's arguments; throws if they are too long. */
export function stringifyArguments(value: unknown, { eventChars, settings }: TextLimits = TEXT_LIMITS): string {
  const { chars, values } = jsonSize(value, eventChars, CALL_MEMBERS_MAX);
  if (chars > eventChars) throw new OversizedTextError(eventChars, "a tool call", settings?.event);
  if (values > CALL_MEMBERS_MAX) throw oversizedCall();
  return stringifyWithSpans(value);
}

/** JSON text of a part of a reply that the gateway rewrites; throws if it is too long. */
export function stringifyRewritten(value: unknown, { replyChars, settings }: TextLimits = TEXT_LIMITS): string {
  if (jsonChars(value, replyChars) > replyChars)
    throw new OversizedTextError(replyChars, "a reply that does not conform to its dialect", settings?.reply);
  return stringifyWithSpans(value);
}
