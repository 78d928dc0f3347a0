import type { Clock } from "../../../kit/clock.ts";

const EVERY_MS = 10_000;

/**
 * Told of messages that prove nothing. Anyone can send those, as many as they like: there is a line for one in ten
 * seconds, which says how many had none, so that nobody fills the log from outside or hides something in it.
 */
export function unsignedMessages(clock: Pick<Clock, "monotonicMs">, say: (detail: object) => void) {
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  let unsaid = 0;
  return (detail: object): void => {
    const nowMs = clock.monotonicMs();
    if (nowMs < quietUntilMs) {
      unsaid += 1;
      return;
    }
    say({ ...detail, ...(unsaid === 0 ? {} : { unsaid }) });
    quietUntilMs = nowMs + EVERY_MS;
    unsaid = 0;
  };
}
