import { z } from "zod";
import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import type { Fleet } from "../../domain/fleet/fleet.ts";
import type { CircuitBreakers } from "../../domain/routing/circuit-breakers.ts";
import type { LatencyTracker } from "../../domain/routing/latency-tracker.ts";
import type { CircuitReport, ProbeOrder } from "../../domain/routing/remote-circuit-state.ts";
import type { TrafficStats } from "../../domain/routing/traffic-stats.ts";
import type { Clock } from "../../kit/clock.ts";
import { tryParseJson } from "../../kit/json.ts";
import { cancelTimer, type Timer, type Timers } from "../../kit/timers.ts";
import { CoalescedTask } from "./coalesced-task.ts";

export type EndpointStateSyncDeps = {
  readonly fleet: Pick<Fleet, "id" | "instanceIds">;
  readonly store: CoordinationStore;
  /** Of the operator's credentials alone: what a workspace's own key or node is like is no matter of others. */
  readonly breakers: CircuitBreakers;
  readonly health: LatencyTracker;
  readonly learned: TrafficStats;
  /** Whether the catalogue here has an endpoint. */
  hasEndpoint(endpointId: string): boolean;
  readonly clock: Clock;
  readonly timers: Timers;
};

const TOPIC = "endpoints";
const ASIDE = "aside:";
const SPEED = "speed:";
const LOOK_EVERY_MS = 1_000;
/** However much happens at once is told and heard together. */
const SOON_MS = 50;
const SPEED_EVERY_MS = 2_000;
/** A board that has lost everything has it again after this. */
const ASIDE_AGAIN_MS = 3_000;
const SPEED_AGAIN_MS = 60_000;
/** What an instance that is gone said of endpoints: until their time aside is over, and so long for the others' turns. */
const ASIDE_LINGER_MS = 10_000;
/** What an instance that is gone had measured counts for others for this long, and for itself when it is started again. */
const SPEED_KEPT_MS = 10 * 60_000;
/** The most endpoints that one instance speaks of, and models: the newest. Some 40 kB. */
const TOLD_MAX = 256;
const NAME_CHARS_MAX = 256;

const Name = z.string().max(NAME_CHARS_MAX);
/** Sums of larger ones would be no numbers. */
const Figure = z.number().nonnegative().max(Number.MAX_SAFE_INTEGER);
/** Of how many answers something is an average; there is none of less than one. */
const Answers = Figure.min(1);

const Aside = z.object({
  aside: z.array(z.tuple([Name, Figure, Figure, z.int().nonnegative()])).max(2 * TOLD_MAX),
  served: z.array(z.tuple([Name, Figure])).max(TOLD_MAX),
});
const Measured = z.object({
  speeds: z.array(z.tuple([Name, Figure, Figure, Figure, Answers])).max(TOLD_MAX),
  /** How much models write. */
  output: z.array(z.tuple([Name, Figure])).max(TOLD_MAX),
});

type Measured = {
  readonly speeds: ReturnType<LatencyTracker["said"]>;
  readonly output: ReturnType<TrafficStats["said"]>;
};

/**
 * Which endpoints instances have set aside, and how fast they found them, on the board. Requests only read what is in
 * memory; all of this happens beside them. While the board is away each goes on with what it knows.
 */
export class EndpointStateSync {
  readonly #parts: EndpointStateSyncDeps;
  readonly #exchanging = new CoalescedTask(() => this.#exchange());
  /** What others have measured, by their ids, as they said it. */
  readonly #measured = new Map<string, Measured & { readonly text: string }>();
  #toldAside = { text: "", atMs: 0 };
  #toldSpeed = { text: "", atMs: 0 };
  /** Until this one has said something, what it said before it was started again counts like another's word. */
  #hasSpoken = false;
  #isUrgent = false;
  #speedDueAtMs = 0;
  #timer: Timer | undefined;
  #soon: Timer | undefined;
  #deaf: () => void = () => undefined;
  #isStopped = false;

  constructor(parts: EndpointStateSyncDeps) {
    this.#parts = parts;
  }

  /** Resolves when what others know is known here, or the board does not say it. */
  async start(): Promise<void> {
    const { store, breakers, fleet } = this.#parts;
    await this.#restore().catch(() => undefined);
    await this.#exchanging.run();
    this.#deaf = store.subscribe(TOPIC, (from) => {
      if (from !== fleet.id) this.#lookSoon();
    });
    breakers.onChange(() => {
      this.#isUrgent = true;
      this.#lookSoon();
    });
    this.#next();
  }

  /** What is known here is said once more, for those who go on. */
  async close(): Promise<void> {
    this.#isStopped = true;
    this.#deaf();
    this.#parts.breakers.onChange(() => undefined);
    cancelTimer(this.#timer);
    cancelTimer(this.#soon);
    await this.#exchanging.run();
  }

  #lookSoon(): void {
    if (this.#isStopped) return;
    this.#soon ??= this.#parts.timers.after(SOON_MS, () => {
      this.#soon = undefined;
      void this.#exchanging.run();
    });
  }

  #next(): void {
    if (this.#isStopped) return;
    this.#timer = this.#parts.timers.after(LOOK_EVERY_MS, () => {
      void this.#exchanging.run().then(() => this.#next());
    });
  }

  /** Never rejects: whoever cannot be heard now is heard later. */
  async #exchange(): Promise<void> {
    try {
      await this.#tellAside();
      await this.#hearAside();
      const nowMs = this.#parts.clock.monotonicMs();
      if (nowMs < this.#speedDueAtMs) return;
      this.#speedDueAtMs = nowMs + SPEED_EVERY_MS;
      await this.#tellSpeed();
      await this.#hearSpeed();
    } catch {
      // The fleet has said already that the board is away.
    }
  }

  async #tellAside(): Promise<void> {
    const { store, breakers, fleet, clock } = this.#parts;
    const isUrgent = this.#isUrgent;
    this.#isUrgent = false;
    const { openCircuits, refutations } = breakers.said();
    const newest = openCircuits.toSorted((a, b) => b.openedAtMs - a.openedAtMs).slice(0, TOLD_MAX);
    const rows = newest.map(({ endpoint, openedAtMs, openUntilMs, openCount }) => [
      endpoint,
      openedAtMs,
      openUntilMs,
      openCount,
    ]);
    const back = refutations.slice(-TOLD_MAX).map(({ endpoint, sinceMs }) => [endpoint, sinceMs]);
    const text = rows.length + back.length === 0 ? "" : JSON.stringify({ aside: rows, served: back });
    const nowMs = clock.monotonicMs();
    if (text !== this.#toldAside.text || (text !== "" && nowMs - this.#toldAside.atMs >= ASIDE_AGAIN_MS)) {
      const leftMs = Math.max(0, ...newest.map(({ openUntilMs }) => openUntilMs - clock.nowMs()));
      this.#hasSpoken = true;
      if (text === "") await store.delete(`${ASIDE}${fleet.id}`);
      else await store.put(`${ASIDE}${fleet.id}`, text, leftMs + ASIDE_LINGER_MS);
      this.#toldAside = { text, atMs: nowMs };
    }
    if (isUrgent) await store.publish(TOPIC, fleet.id);
  }

  async #hearAside(): Promise<void> {
    const { store, breakers, fleet, hasEndpoint } = this.#parts;
    const said: CircuitReport[] = [];
    for (const [id, text] of await store.list(ASIDE)) {
      const told = id === fleet.id && this.#hasSpoken ? undefined : Aside.safeParse(tryParseJson(text)).data;
      if (told === undefined) continue;
      const aside = told.aside.filter(([endpoint]) => hasEndpoint(endpoint));
      said.push({
        openCircuits: aside.map(([endpoint, sinceMs, untilMs, times]) => ({ endpoint, sinceMs, untilMs, times })),
        refutations: told.served.map(([endpoint, sinceMs]) => ({ endpoint, sinceMs })),
      });
    }
    const isQuiet = said.length === 0 && this.#toldAside.text === "";
    breakers.applyReports(said, isQuiet ? { index: 0, count: 1 } : await this.#turn());
  }

  /** Everybody has the same order of all. */
  async #turn(): Promise<ProbeOrder> {
    const { fleet } = this.#parts;
    const ids = (await fleet.instanceIds()).toSorted();
    return { index: Math.max(0, ids.indexOf(fleet.id)), count: Math.max(1, ids.length) };
  }

  async #tellSpeed(): Promise<void> {
    const { store, health, learned, fleet, clock } = this.#parts;
    const speeds = health
      .said(clock.nowMs(), TOLD_MAX)
      .map(([endpoint, { atMs, firstByteMs, perTokenMs, samples }]) => [
        endpoint,
        atMs,
        firstByteMs,
        perTokenMs,
        samples,
      ]);
    const output = learned.said(TOLD_MAX);
    if (speeds.length + output.length === 0) return;
    const text = JSON.stringify({ speeds, output });
    const nowMs = clock.monotonicMs();
    if (text === this.#toldSpeed.text && nowMs - this.#toldSpeed.atMs < SPEED_AGAIN_MS) return;
    await store.put(`${SPEED}${fleet.id}`, text, SPEED_KEPT_MS);
    this.#toldSpeed = { text, atMs: nowMs };
  }

  async #hearSpeed(): Promise<void> {
    const { store, health, learned, fleet, clock } = this.#parts;
    const found = await store.list(SPEED);
    let isNews = false;
    for (const id of this.#measured.keys()) if (!found.has(id)) isNews = this.#measured.delete(id);
    for (const [id, text] of found) {
      if (id === fleet.id || this.#measured.get(id)?.text === text) continue;
      this.#measured.set(id, { text, ...this.#measuredIn(text) });
      isNews = true;
    }
    if (!isNews) return;
    const all = [...this.#measured.values()];
    const speeds = all.map((one) => one.speeds);
    health.applyReports(speeds, clock.nowMs());
    learned.applyReports(all.map(({ output }) => output));
  }

  async #restore(): Promise<void> {
    const { store, health, learned, fleet, clock } = this.#parts;
    const { speeds, output } = this.#measuredIn((await store.get(`${SPEED}${fleet.id}`)) ?? "");
    health.restore(speeds, clock.nowMs());
    learned.restore(output);
  }

  #measuredIn(text: string): Measured {
    const { speeds, output } = Measured.safeParse(tryParseJson(text)).data ?? { speeds: [], output: [] };
    const known = speeds.filter(([endpoint]) => this.#parts.hasEndpoint(endpoint));
    return {
      speeds: known.map(([endpoint, atMs, firstByteMs, perTokenMs, answers]) => [
        endpoint,
        { atMs, firstByteMs, perTokenMs, answers },
      ]),
      output,
    };
  }
}
