/** About two milliseconds of work, after which other requests get their turn. */
const TURN_CHARS = 65_536;

/** Runs work that yields what it did, in characters, so that a long one keeps nothing else waiting. */
export async function inTurns<T>(work: Generator<number, T>): Promise<T> {
  let chars = 0;
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    chars += step.value;
    if (chars < TURN_CHARS) continue;
    chars = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export function atOnce<T>(work: Generator<number, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
