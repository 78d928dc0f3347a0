import { type CircuitBreakerRules, CircuitBreakers } from "../../domain/routing/circuit-breakers.ts";
import { LatencyTracker } from "../../domain/routing/latency-tracker.ts";
import type { AnnouncedModel, WorkspaceNode } from "../../domain/tenancy/node.ts";
import { exponentialBackoffMs } from "../../kit/backoff.ts";
import type { Clock } from "../../kit/clock.ts";
import { cancelTimer, type Timer } from "../../kit/timers.ts";
import type { LiveNode } from "./hub.ts";

/** A node that is connected and not asked, because what it answered was wrong. */
export type Aside = { readonly reason: string; readonly sinceMs: number; readonly untilMs: number };

type NodeTrouble = { readonly atMs: number; readonly message: string };

export type AsideRules = {
  /** The first time aside; each further one is twice as long. */
  readonly firstMs: number;
  readonly mostMs: number;
};

/** Who was honest for so long begins anew. */
const FORGIVEN_AFTER_MS = 3_600_000;

/** One node of the book, and all that is found out about it while the process lives. */
export class HeldNode {
  node: WorkspaceNode;
  /** Its connection to this instance; and the best of those that other instances hold. */
  #here: LiveNode | undefined;
  #there: LiveNode | undefined;
  #leaving = false;
  aside: Aside | null = null;
  lastError: NodeTrouble | null = null;
  lastSeenAtMs: number | null;
  /** How its endpoints do says nothing of anybody else's, who may have the same names in another workspace. */
  breakers: CircuitBreakers;
  readonly health = new LatencyTracker();
  readonly #clock: Clock;
  readonly #breakerRules: CircuitBreakerRules;
  #running = 0;
  #timesAside = 0;
  #back: Timer | undefined;

  constructor(node: WorkspaceNode, clock: Clock, breakerRules: CircuitBreakerRules) {
    this.node = node;
    this.lastSeenAtMs = node.lastSeenAtMs;
    this.#clock = clock;
    this.#breakerRules = breakerRules;
    this.breakers = new CircuitBreakers(clock, breakerRules);
  }

  get running(): number {
    return this.#running;
  }

  /** All its models share its places: they run on one machine. */
  acquire(): "taken" | "full" {
    if (this.#running >= (this.live?.announcement.capacity ?? Infinity)) return "full";
    this.#running += 1;
    return "taken";
  }

  /** One more for a request that has one: half of all places are left to other requests. */
  acquireExtra(): "taken" | "full" {
    if (2 * (this.#running + 1) > (this.live?.announcement.capacity ?? Infinity)) return "full";
    this.#running += 1;
    return "taken";
  }

  release(): void {
    this.#running -= 1;
  }

  /** The way it is reached: its own connection here, unless that one ends soon and another instance has one. */
  get live(): LiveNode | undefined {
    return this.#leaving ? (this.#there ?? this.#here) : (this.#here ?? this.#there);
  }

  connected(live: LiveNode): void {
    this.#now(live, this.#there);
  }

  lost(): void {
    this.#now(undefined, this.#there);
  }

  /** What is known of its connections to other instances. */
  elsewhere(live: LiveNode | undefined): void {
    if (!isSame(live, this.#there)) this.#now(this.#here, live);
  }

  /** This instance stops. */
  leaves(): LiveNode | undefined {
    this.#leaving = true;
    return this.#here;
  }

  #now(here: LiveNode | undefined, there: LiveNode | undefined): void {
    const before = this.live;
    this.#here = here;
    this.#there = there;
    if (before !== undefined || this.live !== undefined) this.lastSeenAtMs = this.#clock.nowMs();
    // Who connects again has begun again.
    const now = this.live;
    if (now === undefined || (now.connectedAtMs === before?.connectedAtMs && now.instance === before.instance)) return;
    this.breakers = new CircuitBreakers(this.#clock, this.#breakerRules);
  }

  failed(message: string): void {
    this.lastError = { atMs: this.#clock.nowMs(), message };
  }

  /** What it serves now; nothing while it is away or aside. */
  get served(): readonly AnnouncedModel[] {
    return this.aside === null ? (this.announced ?? []) : [];
  }

  /** What it says that it serves; undefined while it is away. */
  get announced(): readonly AnnouncedModel[] | undefined {
    if (this.live === undefined) return undefined;
    const models = this.live.announcement.models.map((model): [string, AnnouncedModel] => [
      model.id,
      {
        id: model.id,
        surfaces: model.surfaces,
        contextTokens: model.context_tokens,
        maxOutputTokens: model.max_output_tokens,
        tools: model.tools,
        jsonSchema: model.json_schema,
        imageInput: model.image_input,
        reasoning: model.reasoning,
      },
    ]);
    return [...new Map(models).values()];
  }

  /** From now on it is not asked; how long that lasts. */
  setAside(reason: string, { firstMs, mostMs }: AsideRules): number {
    const nowMs = this.#clock.nowMs();
    this.#timesAside = this.#isForgiven(nowMs) ? 1 : this.#timesAside + 1;
    const asideMs = exponentialBackoffMs(this.#timesAside - 1, firstMs, mostMs);
    this.aside = { reason, sinceMs: nowMs, untilMs: nowMs + asideMs };
    this.#backAtMs = this.aside.untilMs;
    this.failed(reason);
    return asideMs;
  }

  #backAtMs = 0;

  #isForgiven(nowMs: number): boolean {
    return nowMs - this.#backAtMs > FORGIVEN_AFTER_MS;
  }

  /** `timer` brings it back. */
  waits(timer: Timer): void {
    cancelTimer(this.#back);
    this.#back = timer;
  }

  forget(): void {
    cancelTimer(this.#back);
  }
}

function isSame(one: LiveNode | undefined, other: LiveNode | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
