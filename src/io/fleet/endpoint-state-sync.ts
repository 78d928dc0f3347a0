import { z } from "zod";
import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import type { Fleet } from "../../domain/fleet/fleet.ts";
import type { CircuitBreakers, LatencyTracker, TrafficStats } from "../../domain/routing/endpoint-health.ts";
import type { CircuitReport, ProbeOrder } from "../../domain/routing/remote-circuit-state.ts";
import type { Clock } from "../../kit/clock.ts";
import { tryParseJson } from "../../kit/json.ts";
import { cancelTimer, type Timer, type Timers } from "../../kit/timers.ts";
import { CoalescedTask } from "./coalesced-task.ts";

export type EndpointStateSyncDeps = {
  readonly fleet: Pick<Fleet, "id" | "instanceIds">;
  readonly store: CoordinationStore;
  /** For the operator's credentials only: circuits of a workspace's own keys and nodes are not shared. */
  readonly breakers: CircuitBreakers;
  readonly health: LatencyTracker;
  readonly learned: TrafficStats;
  /** Whether the catalogue of this instance has the endpoint. */
  hasEndpoint(endpointId: string): boolean;
  readonly clock: Clock;
  readonly timers: Timers;
};

const TOPIC = "endpoints";
const CIRCUITS_PREFIX = "aside:";
const LATENCY_PREFIX = "speed:";
const EXCHANGE_EVERY_MS = 1_000;
/** Debounces bursts of changes. */
const DEBOUNCE_MS = 50;
const LATENCY_EVERY_MS = 2_000;
/** Unchanged reports are published again after this, in case the store lost them. */
const CIRCUITS_REPUBLISH_MS = 3_000;
const LATENCY_REPUBLISH_MS = 60_000;
/** A report outlives its open circuits by this, so that the probes of the other instances stay staggered. */
const CIRCUITS_LINGER_MS = 10_000;
/** A restarted instance also restores its own report within this time. */
const LATENCY_TTL_MS = 10 * 60_000;
/** Endpoints and models in one report, newest first: about 40 kB. */
const ROWS_MAX = 256;
const NAME_CHARS_MAX = 256;

const Name = z.string().max(NAME_CHARS_MAX);
/** Bounded, so that sums stay finite. */
const Amount = z.number().nonnegative().max(Number.MAX_SAFE_INTEGER);
/** The number of samples behind an average. */
const SampleCount = Amount.min(1);

/** Stored: `aside` are open circuits, `served` endpoints that served although another instance reported them open. */
const StoredCircuits = z.object({
  aside: z.array(z.tuple([Name, Amount, Amount, z.int().nonnegative()])).max(2 * ROWS_MAX),
  served: z.array(z.tuple([Name, Amount])).max(ROWS_MAX),
});
const StoredLatency = z.object({
  speeds: z.array(z.tuple([Name, Amount, Amount, Amount, SampleCount])).max(ROWS_MAX),
  /** Output tokens per reply, by model. */
  output: z.array(z.tuple([Name, Amount])).max(ROWS_MAX),
});

type LatencyReports = {
  readonly speeds: ReturnType<LatencyTracker["report"]>;
  readonly output: ReturnType<TrafficStats["report"]>;
};

/**
 * Shares open circuits and latency of endpoints among instances. Requests read only memory; this exchange runs in the
 * background. While the store is unavailable, each instance continues with what it knows.
 */
export class EndpointStateSync {
  readonly #deps: EndpointStateSyncDeps;
  readonly #exchangeTask = new CoalescedTask(() => this.#exchange());
  /** Latency reports of other instances, with their stored text. */
  readonly #latencyByInstance = new Map<string, LatencyReports & { readonly text: string }>();
  #publishedCircuits = { text: "", atMs: 0 };
  #publishedLatency = { text: "", atMs: 0 };
  /** Until then, the report of the previous incarnation counts like that of another instance. */
  #hasPublished = false;
  /** A circuit changed here since the last exchange. */
  #isUrgent = false;
  #latencyDueAtMs = 0;
  #timer: Timer | undefined;
  #debounce: Timer | undefined;
  #unsubscribe: () => void = () => undefined;
  #isStopped = false;

  constructor(deps: EndpointStateSyncDeps) {
    this.#deps = deps;
  }

  /** Resolves when the reports of other instances are applied, or the store does not answer. */
  async start(): Promise<void> {
    const { store, breakers, fleet } = this.#deps;
    await this.#restore().catch(() => undefined);
    await this.#exchangeTask.run();
    this.#unsubscribe = store.subscribe(TOPIC, (from) => {
      if (from !== fleet.id) this.#requestExchange();
    });
    breakers.onChange(() => {
      this.#isUrgent = true;
      this.#requestExchange();
    });
    this.#scheduleExchange();
  }

  /** Publishes a last report. */
  async close(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#deps.breakers.onChange(() => undefined);
    cancelTimer(this.#timer);
    cancelTimer(this.#debounce);
    await this.#exchangeTask.run();
  }

  #requestExchange(): void {
    if (this.#isStopped) return;
    this.#debounce ??= this.#deps.timers.after(DEBOUNCE_MS, () => {
      this.#debounce = undefined;
      void this.#exchangeTask.run();
    });
  }

  #scheduleExchange(): void {
    if (this.#isStopped) return;
    this.#timer = this.#deps.timers.after(EXCHANGE_EVERY_MS, () => {
      void this.#exchangeTask.run().then(() => this.#scheduleExchange());
    });
  }

  /** Never rejects: the next exchange repeats it. */
  async #exchange(): Promise<void> {
    try {
      await this.#publishCircuits();
      await this.#receiveCircuits();
      const nowMs = this.#deps.clock.monotonicMs();
      if (nowMs < this.#latencyDueAtMs) return;
      this.#latencyDueAtMs = nowMs + LATENCY_EVERY_MS;
      await this.#publishLatency();
      await this.#receiveLatency();
    } catch {
      // The fleet logs outages of the store.
    }
  }

  async #publishCircuits(): Promise<void> {
    const { store, breakers, fleet, clock } = this.#deps;
    const isUrgent = this.#isUrgent;
    this.#isUrgent = false;
    const { openCircuits, refutations } = breakers.report();
    const newest = openCircuits.toSorted((a, b) => b.openedAtMs - a.openedAtMs).slice(0, ROWS_MAX);
    const rows = newest.map(({ endpoint, openedAtMs, openUntilMs, openCount }) => [
      endpoint,
      openedAtMs,
      openUntilMs,
      openCount,
    ]);
    const refuted = refutations.slice(-ROWS_MAX).map(({ endpoint, sinceMs }) => [endpoint, sinceMs]);
    const text = rows.length + refuted.length === 0 ? "" : JSON.stringify({ aside: rows, served: refuted });
    const nowMs = clock.monotonicMs();
    if (
      text !== this.#publishedCircuits.text ||
      (text !== "" && nowMs - this.#publishedCircuits.atMs >= CIRCUITS_REPUBLISH_MS)
    ) {
      const longestOpenMs = Math.max(0, ...newest.map(({ openUntilMs }) => openUntilMs - clock.nowMs()));
      this.#hasPublished = true;
      if (text === "") await store.delete(`${CIRCUITS_PREFIX}${fleet.id}`);
      else await store.put(`${CIRCUITS_PREFIX}${fleet.id}`, text, longestOpenMs + CIRCUITS_LINGER_MS);
      this.#publishedCircuits = { text, atMs: nowMs };
    }
    if (isUrgent) await store.publish(TOPIC, fleet.id);
  }

  async #receiveCircuits(): Promise<void> {
    const { store, breakers, fleet, hasEndpoint } = this.#deps;
    const reports: CircuitReport[] = [];
    for (const [id, text] of await store.list(CIRCUITS_PREFIX)) {
      const stored =
        id === fleet.id && this.#hasPublished ? undefined : StoredCircuits.safeParse(tryParseJson(text)).data;
      if (stored === undefined) continue;
      const known = stored.aside.filter(([endpoint]) => hasEndpoint(endpoint));
      reports.push({
        openCircuits: known.map(([endpoint, openedAtMs, openUntilMs, openCount]) => ({
          endpoint,
          openedAtMs,
          openUntilMs,
          openCount,
        })),
        refutations: stored.served.map(([endpoint, sinceMs]) => ({ endpoint, sinceMs })),
      });
    }
    const isAllClosed = reports.length === 0 && this.#publishedCircuits.text === "";
    breakers.applyReports(reports, isAllClosed ? { index: 0, count: 1 } : await this.#probeOrder());
  }

  /** Every instance sorts the same ids, so all agree on the order. */
  async #probeOrder(): Promise<ProbeOrder> {
    const { fleet } = this.#deps;
    const ids = (await fleet.instanceIds()).toSorted();
    return { index: Math.max(0, ids.indexOf(fleet.id)), count: Math.max(1, ids.length) };
  }

  async #publishLatency(): Promise<void> {
    const { store, health, learned, fleet, clock } = this.#deps;
    const speeds = health
      .report(clock.nowMs(), ROWS_MAX)
      .map(([endpoint, { atMs, firstByteMs, perTokenMs, samples }]) => [
        endpoint,
        atMs,
        firstByteMs,
        perTokenMs,
        samples,
      ]);
    const output = learned.report(ROWS_MAX);
    if (speeds.length + output.length === 0) return;
    const text = JSON.stringify({ speeds, output });
    const nowMs = clock.monotonicMs();
    if (text === this.#publishedLatency.text && nowMs - this.#publishedLatency.atMs < LATENCY_REPUBLISH_MS) return;
    await store.put(`${LATENCY_PREFIX}${fleet.id}`, text, LATENCY_TTL_MS);
    this.#publishedLatency = { text, atMs: nowMs };
  }

  async #receiveLatency(): Promise<void> {
    const { store, health, learned, fleet, clock } = this.#deps;
    const found = await store.list(LATENCY_PREFIX);
    let hasChanged = false;
    for (const id of this.#latencyByInstance.keys())
      if (!found.has(id)) hasChanged = this.#latencyByInstance.delete(id);
    for (const [id, text] of found) {
      if (id === fleet.id || this.#latencyByInstance.get(id)?.text === text) continue;
      this.#latencyByInstance.set(id, { text, ...this.#parseLatency(text) });
      hasChanged = true;
    }
    if (!hasChanged) return;
    const reports = [...this.#latencyByInstance.values()];
    health.applyReports(
      reports.map(({ speeds }) => speeds),
      clock.nowMs(),
    );
    learned.applyReports(reports.map(({ output }) => output));
  }

  async #restore(): Promise<void> {
    const { store, health, learned, fleet, clock } = this.#deps;
    const { speeds, output } = this.#parseLatency((await store.get(`${LATENCY_PREFIX}${fleet.id}`)) ?? "");
    health.restore(speeds, clock.nowMs());
    learned.restore(output);
  }

  #parseLatency(text: string): LatencyReports {
    const { speeds, output } = StoredLatency.safeParse(tryParseJson(text)).data ?? { speeds: [], output: [] };
    const known = speeds.filter(([endpoint]) => this.#deps.hasEndpoint(endpoint));
    return {
      speeds: known.map(([endpoint, atMs, firstByteMs, perTokenMs, samples]) => [
        endpoint,
        { atMs, firstByteMs, perTokenMs, samples },
      ]),
      output,
    };
  }
}
