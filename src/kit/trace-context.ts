/** A `traceparent` header of W3C Trace Context. */
export type TraceParent = { readonly traceId: string; readonly spanId: string; readonly isSampled: boolean };

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;
const SAMPLED = 1;
/** Length of version 00; later versions may be longer. */
const CHARS_MIN = 55;

/** Undefined for an invalid header: the request then starts a new trace. */
export function parseTraceparent(text: string): TraceParent | undefined {
  if (text.length !== CHARS_MIN && (text.length < CHARS_MIN || text.startsWith("00"))) return undefined;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

export function formatTraceparent({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** The hexadecimal digits of the request id are the trace id of a new trace. */
export const traceIdOf = (requestId: string): string => requestId.slice(-32);

/**
 * Span id of a request (attempt 0) or of one of its attempts. It is derived from the random bits of the request id, so that
 * it need not be stored.
 */
export function spanIdOf(requestId: string, attempt: number): string {
  const digits = requestId.slice(-16);
  if (attempt === 0) return digits;
  const last = Number.parseInt(digits.slice(-4), 16) ^ attempt;
  return `${digits.slice(0, -4)}${(last & 0xffff).toString(16).padStart(4, "0")}`;
}
