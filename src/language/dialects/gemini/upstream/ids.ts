/**
 * An id for a call that came without one: the same answer always gives the same ids, and no two answers share one. Where the
 * answer has no id either, the length of the conversation keeps two answers apart.
 */
export function generatedCallId(upstreamId: string | null, turns: number, index: number): string {
  return `call_${(upstreamId ?? `turn${turns}`).replace(/[^a-zA-Z0-9_-]/g, "_")}_${index}`;
}
