/** Marks that records may be compact, so that a version that cannot read them does not start. Changes no table. */
export function shortRecords(): string[] {
  return [];
}
