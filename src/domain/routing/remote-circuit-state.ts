import type { Clock } from "../../kit/clock.ts";

/** What one instance says to the others of endpoints, by the clock that all of them have. */
export type CircuitReport = {
  /** Those that it has set aside, or probes. */
  readonly openCircuits: readonly OpenCircuitReport[];
  /** Those that served it although another one had set them aside: when that was. */
  readonly refutations: readonly { readonly endpoint: string; readonly sinceMs: number }[];
};

export type OpenCircuitReport = {
  readonly endpoint: string;
  readonly openedAtMs: number;
  readonly openUntilMs: number;
  /** How often without having served since. */
  readonly openCount: number;
};

/** What others say of an endpoint, all of them together. */
export type RemoteCircuit = {
  readonly openedAtMs: number;
  readonly openUntilMs: number;
  /** By the clock that never jumps. */
  openUntilMonotonicMs: number;
  readonly openCount: number;
  isProbing: "no" | "yes";
  /** An attempt was begun here since. */
  wasTried: boolean;
};

/** The place of an instance among all, by their names. */
export type ProbeOrder = { readonly index: number; readonly count: number };

/** How long each lets the one before it go first: what that one found out is known to all by then. */
const PROBE_STAGGER_MS = 1_000;
const PROBE_STAGGER_STEPS_MAX = 5;

/**
 * When the time aside is over, instances may probe one after the other, and another one is the first each time: one that
 * cannot reach an endpoint by a fault of its own does not keep it from all of them.
 */
export function probeDelayMs({ index, count }: ProbeOrder, times: number): number {
  const before = (((index - times) % count) + count) % count;
  return Math.min(before, PROBE_STAGGER_STEPS_MAX) * PROBE_STAGGER_MS;
}

/** By endpoint: whatever was set aside up to then has served since. */
export function refutationsIn(said: readonly CircuitReport[]): ReadonlyMap<string, number> {
  const refuted = new Map<string, number>();
  for (const { refutations } of said)
    for (const { endpoint, sinceMs } of refutations)
      refuted.set(endpoint, Math.max(sinceMs, refuted.get(endpoint) ?? 0));
  return refuted;
}

type MergeContext = {
  readonly refutations: ReadonlyMap<string, number>;
  readonly before: ReadonlyMap<string, RemoteCircuit>;
  readonly clock: Clock;
  readonly openMsMax: number;
};

/** What is set aside by any of them and has served none. */
export function mergeReports(
  said: readonly CircuitReport[],
  { refutations, before, clock, openMsMax }: MergeContext,
): Map<string, RemoteCircuit> {
  const [nowMs, elapsedMs] = [clock.nowMs(), clock.monotonicMs()];
  const heard = new Map<string, RemoteCircuit>();
  for (const { openCircuits } of said)
    for (const { endpoint, openedAtMs, openUntilMs, openCount } of openCircuits) {
      if (openedAtMs <= (refutations.get(endpoint) ?? 0)) continue;
      const known = heard.get(endpoint);
      heard.set(endpoint, {
        openedAtMs: Math.max(openedAtMs, known?.openedAtMs ?? 0),
        openUntilMs: Math.max(openUntilMs, known?.openUntilMs ?? 0),
        openUntilMonotonicMs: 0,
        openCount: Math.max(openCount, known?.openCount ?? 0),
        isProbing: before.get(endpoint)?.isProbing ?? "no",
        wasTried: false,
      });
    }
  for (const [endpoint, one] of heard) {
    const known = before.get(endpoint);
    // A word that is said again is the same word: a clock that is far ahead keeps nobody away for longer than any other.
    const isSame = known?.openUntilMs === one.openUntilMs;
    // Zero is for those that are not aside; a process that has just begun has a clock near it.
    const asideUntilMs = Math.max(1, elapsedMs + Math.min(one.openUntilMs - nowMs, openMsMax));
    one.openUntilMonotonicMs = isSame ? known.openUntilMonotonicMs : asideUntilMs;
    // What was begun after a word was begun after an older one as well, which is left when the newer is taken back.
    one.wasTried = known !== undefined && known.openedAtMs >= one.openedAtMs && known.wasTried;
  }
  return heard;
}
