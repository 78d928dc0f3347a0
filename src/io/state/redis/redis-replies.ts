/** What Redis answered, read as what it must be. */
export function textOf(reply: unknown): string {
  if (typeof reply === "string") return reply;
  if (typeof reply === "number") return String(reply);
  throw new Error(`Redis answered ${typeof reply} where text was expected`);
}

export function textOrNone(reply: unknown): string | undefined {
  return reply === null || reply === undefined || reply === false ? undefined : textOf(reply);
}

export function listOf(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply;
  throw new Error(`Redis answered ${typeof reply} where a list was expected`);
}

export function nanosOf(reply: unknown): bigint {
  return BigInt(textOrNone(reply) ?? "0");
}
