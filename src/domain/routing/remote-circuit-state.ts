import type { Clock } from "../../kit/clock.ts";

/** What one instance says to the others of endpoints, by the clock that all of them have. */
export type CircuitReport = {
  /** Those that it has set aside, or probes. */
  readonly aside: readonly OpenCircuitReport[];
  /** Those that served it although another one had set them aside: when that was. */
  readonly served: readonly { readonly endpoint: string; readonly sinceMs: number }[];
};

export type OpenCircuitReport = {
  readonly endpoint: string;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** How often without having served since. */
  readonly times: number;
};

/** What others say of an endpoint, all of them together. */
export type RemoteCircuit = {
  readonly sinceMs: number;
  readonly untilMs: number;
  /** By the clock that never jumps. */
  asideUntilMs: number;
  readonly times: number;
  probing: "no" | "yes";
  /** An attempt was begun here since. */
  isTried: boolean;
};

/** The place of an instance among all, by their names. */
export type ProbeOrder = { readonly place: number; readonly of: number };

/** How long each lets the one before it go first: what that one found out is known to all by then. */
const PROBE_STAGGER_MS = 1_000;
const PROBE_STAGGER_STEPS_MAX = 5;

/**
 * When the time aside is over, instances may probe one after the other, and another one is the first each time: one that
 * cannot reach an endpoint by a fault of its own does not keep it from all of them.
 */
export function probeDelayMs({ place, of }: ProbeOrder, times: number): number {
  const before = (((place - times) % of) + of) % of;
  return Math.min(before, PROBE_STAGGER_STEPS_MAX) * PROBE_STAGGER_MS;
}

/** By endpoint: whatever was set aside up to then has served since. */
export function refutationsIn(said: readonly CircuitReport[]): ReadonlyMap<string, number> {
  const refuted = new Map<string, number>();
  for (const { served } of said)
    for (const { endpoint, sinceMs } of served) refuted.set(endpoint, Math.max(sinceMs, refuted.get(endpoint) ?? 0));
  return refuted;
}

type MergeContext = {
  readonly refuted: ReadonlyMap<string, number>;
  readonly before: ReadonlyMap<string, RemoteCircuit>;
  readonly clock: Clock;
  readonly maxMs: number;
};

/** What is set aside by any of them and has served none. */
export function mergeReports(
  said: readonly CircuitReport[],
  { refuted, before, clock, maxMs }: MergeContext,
): Map<string, RemoteCircuit> {
  const [nowMs, elapsedMs] = [clock.nowMs(), clock.monotonicMs()];
  const heard = new Map<string, RemoteCircuit>();
  for (const { aside } of said)
    for (const { endpoint, sinceMs, untilMs, times } of aside) {
      if (sinceMs <= (refuted.get(endpoint) ?? 0)) continue;
      const known = heard.get(endpoint);
      heard.set(endpoint, {
        sinceMs: Math.max(sinceMs, known?.sinceMs ?? 0),
        untilMs: Math.max(untilMs, known?.untilMs ?? 0),
        asideUntilMs: 0,
        times: Math.max(times, known?.times ?? 0),
        probing: before.get(endpoint)?.probing ?? "no",
        isTried: false,
      });
    }
  for (const [endpoint, one] of heard) {
    const known = before.get(endpoint);
    // A word that is said again is the same word: a clock that is far ahead keeps nobody away for longer than any other.
    const isSame = known?.untilMs === one.untilMs;
    // Zero is for those that are not aside; a process that has just begun has a clock near it.
    const asideUntilMs = Math.max(1, elapsedMs + Math.min(one.untilMs - nowMs, maxMs));
    one.asideUntilMs = isSame ? known.asideUntilMs : asideUntilMs;
    // What was begun after a word was begun after an older one as well, which is left when the newer is taken back.
    one.isTried = known !== undefined && known.sinceMs >= one.sinceMs && known.isTried;
  }
  return heard;
}
