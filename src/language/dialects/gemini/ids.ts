/** An id for a call that came without one: the same answer always gives the same ids, and no two answers share one. */
export function madeCallId(upstreamId: string | null, name: string, index: number): string {
  return `call_${(upstreamId ?? name).replace(/[^a-zA-Z0-9_-]/g, "_")}_${index}`;
}
