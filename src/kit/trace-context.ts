/** What a caller says of the trace that its request is part of, in the form of W3C Trace Context. */
export type TraceParent = { readonly traceId: string; readonly spanId: string; readonly isSampled: boolean };

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;
const SAMPLED = 1;
/** The length of a version 00; later ones may be longer. */
const CHARS = 55;

/** Undefined where it is not of that form: a trace begins here then. */
export function parseTraceparent(text: string): TraceParent | undefined {
  if (text.length !== CHARS && (text.length < CHARS || text.startsWith("00"))) return undefined;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

export function formatTraceparent({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** A request's id ends with 32 hexadecimal digits: where no trace is continued, they are its trace. */
export const traceIdOf = (requestId: string): string => requestId.slice(-32);

/**
 * The span of a request, and those of its attempts counted from one. They follow from the id, whose last 62 bits are
 * random: whoever has the record alone finds them again, and nothing needs to be kept.
 */
export function spanIdOf(requestId: string, attempt: number): string {
  const digits = requestId.slice(-16);
  if (attempt === 0) return digits;
  const last = Number.parseInt(digits.slice(-4), 16) ^ attempt;
  return `${digits.slice(0, -4)}${(last & 0xffff).toString(16).padStart(4, "0")}`;
}
