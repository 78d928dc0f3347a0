import type { Clock } from "../../kit/clock.ts";

/** What one instance tells the others about its circuits. Times are wall-clock times, which all instances share. */
export type CircuitReport = {
  /** Circuits that are open or being probed on that instance. */
  readonly openCircuits: readonly OpenCircuitReport[];
  /** Endpoints that answered although another instance reported an open circuit: `sinceMs` is when that one opened. */
  readonly refutations: readonly { readonly endpoint: string; readonly sinceMs: number }[];
};

export type OpenCircuitReport = {
  readonly endpoint: string;
  readonly openedAtMs: number;
  readonly openUntilMs: number;
  /** How often it opened since the last success. */
  readonly openCount: number;
};

/** The reports of all other instances about one endpoint, merged. */
export type RemoteCircuit = {
  readonly openedAtMs: number;
  readonly openUntilMs: number;
  /** On this instance's monotonic clock. */
  openUntilMonotonicMs: number;
  readonly openCount: number;
  isProbing: boolean;
  /** An attempt started here after the report arrived. */
  wasTried: boolean;
};

/** The index of this instance among all, sorted by id. */
export type ProbeOrder = { readonly index: number; readonly count: number };

/** Long enough for the result of the previous instance's probe to arrive. */
const PROBE_STAGGER_MS = 1_000;
const PROBE_STAGGER_STEPS_MAX = 5;

/**
 * Instances probe one after the other. The order rotates with each reopening, so that an instance with a broken network path
 * does not keep the circuit open for all.
 */
export function probeDelayMs({ index, count }: ProbeOrder, openCount: number): number {
  const before = (((index - openCount) % count) + count) % count;
  return Math.min(before, PROBE_STAGGER_STEPS_MAX) * PROBE_STAGGER_MS;
}

/** By endpoint: circuits that opened up to this time are refuted by a later success. */
export function refutationsIn(reports: readonly CircuitReport[]): ReadonlyMap<string, number> {
  const latest = new Map<string, number>();
  for (const { refutations } of reports)
    for (const { endpoint, sinceMs } of refutations) latest.set(endpoint, Math.max(sinceMs, latest.get(endpoint) ?? 0));
  return latest;
}

type MergeContext = {
  readonly refutations: ReadonlyMap<string, number>;
  readonly before: ReadonlyMap<string, RemoteCircuit>;
  readonly clock: Clock;
  readonly openMsMax: number;
};

/** Circuits that any instance reports as open and none has refuted. */
export function mergeReports(
  reports: readonly CircuitReport[],
  { refutations, before, clock, openMsMax }: MergeContext,
): Map<string, RemoteCircuit> {
  const [nowMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
  const merged = new Map<string, RemoteCircuit>();
  for (const { openCircuits } of reports)
    for (const { endpoint, openedAtMs, openUntilMs, openCount } of openCircuits) {
      if (openedAtMs <= (refutations.get(endpoint) ?? 0)) continue;
      const known = merged.get(endpoint);
      merged.set(endpoint, {
        openedAtMs: Math.max(openedAtMs, known?.openedAtMs ?? 0),
        openUntilMs: Math.max(openUntilMs, known?.openUntilMs ?? 0),
        openUntilMonotonicMs: 0,
        openCount: Math.max(openCount, known?.openCount ?? 0),
        isProbing: before.get(endpoint)?.isProbing ?? false,
        wasTried: false,
      });
    }
  for (const [endpoint, circuit] of merged) {
    const known = before.get(endpoint);
    // A repeated report keeps its deadline, so that a sender whose clock is ahead cannot extend it.
    const isRepeated = known?.openUntilMs === circuit.openUntilMs;
    // Zero means closed, and the monotonic clock of a new process starts near zero.
    const openUntilMonotonicMs = Math.max(1, monotonicMs + Math.min(circuit.openUntilMs - nowMs, openMsMax));
    circuit.openUntilMonotonicMs = isRepeated ? known.openUntilMonotonicMs : openUntilMonotonicMs;
    // An attempt after a newer report is also an attempt after an older one, which remains when the newer is withdrawn.
    circuit.wasTried = known !== undefined && known.openedAtMs >= circuit.openedAtMs && known.wasTried;
  }
  return merged;
}
