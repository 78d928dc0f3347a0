/** Decoders of Redis replies; each throws when the reply has another type. */
export function textReply(reply: unknown): string {
  if (typeof reply === "string") return reply;
  if (typeof reply === "number") return String(reply);
  throw new Error(`Redis replied with ${typeof reply} instead of text`);
}

export function optionalTextReply(reply: unknown): string | undefined {
  return reply === null || reply === undefined || reply === false ? undefined : textReply(reply);
}

export function listReply(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply;
  throw new Error(`Redis replied with ${typeof reply} instead of a list`);
}

export function nanosReply(reply: unknown): bigint {
  return BigInt(optionalTextReply(reply) ?? "0");
}
