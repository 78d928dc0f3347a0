/** Marks that records may have their candidates as columns, so that a version that cannot read them does not start. Changes no table. */
export function candidateColumns(): string[] {
  return [];
}
