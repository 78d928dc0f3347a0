import { type CircuitBreakerRules, CircuitBreakers } from "../../domain/routing/circuit-breakers.ts";
import { LatencyTracker } from "../../domain/routing/latency-tracker.ts";
import type { AnnouncedModel, WorkspaceNode } from "../../domain/tenancy/node.ts";
import { exponentialBackoffMs } from "../../kit/backoff.ts";
import type { Clock } from "../../kit/clock.ts";
import { cancelTimer, type Timer } from "../../kit/timers.ts";
import type { ConnectedNode } from "./tunnel-hub.ts";

/** A node that is connected and not asked, because what it answered was wrong. */
export type OpenNodeCircuit = { readonly reason: string; readonly sinceMs: number; readonly untilMs: number };

type NodeError = { readonly atMs: number; readonly message: string };

export type NodeCircuitRules = {
  /** The first time aside; each further one is twice as long. */
  readonly initialMs: number;
  readonly maxMs: number;
};

/** Who was honest for so long begins anew. */
const FORGIVEN_AFTER_MS = 3_600_000;

/** One node of the book, and all that is found out about it while the process lives. */
export class NodeEntry {
  node: WorkspaceNode;
  /** Its connection to this instance; and the best of those that other instances hold. */
  #here: ConnectedNode | undefined;
  #there: ConnectedNode | undefined;
  #leaving = false;
  openCircuit: OpenNodeCircuit | null = null;
  lastError: NodeError | null = null;
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

  get inFlight(): number {
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
  get live(): ConnectedNode | undefined {
    return this.#leaving ? (this.#there ?? this.#here) : (this.#here ?? this.#there);
  }

  setLocalConnection(live: ConnectedNode): void {
    this.#now(live, this.#there);
  }

  clearLocalConnection(): void {
    this.#now(undefined, this.#there);
  }

  /** What is known of its connections to other instances. */
  setRemoteConnection(live: ConnectedNode | undefined): void {
    if (!isSame(live, this.#there)) this.#now(this.#here, live);
  }

  /** This instance stops. */
  startLeaving(): ConnectedNode | undefined {
    this.#leaving = true;
    return this.#here;
  }

  #now(here: ConnectedNode | undefined, there: ConnectedNode | undefined): void {
    const before = this.live;
    this.#here = here;
    this.#there = there;
    if (before !== undefined || this.live !== undefined) this.lastSeenAtMs = this.#clock.nowMs();
    // Who connects again has begun again.
    const now = this.live;
    if (now === undefined || (now.connectedAtMs === before?.connectedAtMs && now.instance === before.instance)) return;
    this.breakers = new CircuitBreakers(this.#clock, this.#breakerRules);
  }

  recordError(message: string): void {
    this.lastError = { atMs: this.#clock.nowMs(), message };
  }

  /** What it serves now; nothing while it is away or aside. */
  get servedModels(): readonly AnnouncedModel[] {
    return this.openCircuit === null ? (this.announcedModels ?? []) : [];
  }

  /** What it says that it serves; undefined while it is away. */
  get announcedModels(): readonly AnnouncedModel[] | undefined {
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
  recordCircuitOpening(reason: string, { initialMs, maxMs }: NodeCircuitRules): number {
    const nowMs = this.#clock.nowMs();
    this.#timesAside = this.#isForgiven(nowMs) ? 1 : this.#timesAside + 1;
    const asideMs = exponentialBackoffMs(this.#timesAside - 1, initialMs, maxMs);
    this.openCircuit = { reason, sinceMs: nowMs, untilMs: nowMs + asideMs };
    this.#backAtMs = this.openCircuit.untilMs;
    this.recordError(reason);
    return asideMs;
  }

  #backAtMs = 0;

  #isForgiven(nowMs: number): boolean {
    return nowMs - this.#backAtMs > FORGIVEN_AFTER_MS;
  }

  /** `timer` brings it back. */
  setRecoveryTimer(timer: Timer): void {
    cancelTimer(this.#back);
    this.#back = timer;
  }

  cancelRecovery(): void {
    cancelTimer(this.#back);
  }
}

function isSame(one: ConnectedNode | undefined, other: ConnectedNode | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
