const factor = Number(process.env["TEST_ROUNDS"] ?? "1");

/** How often a test repeats a random sequence; `npm run soak -- --of rounds` sets TEST_ROUNDS to a multiple. */
export function rounds(usual: number): number {
  return Number.isInteger(factor) && factor > 0 ? usual * factor : usual;
}
