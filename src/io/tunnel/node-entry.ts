import { CircuitBreakers, LatencyTracker } from "../../domain/routing/endpoint-health.ts";
import type { CircuitBreakerRules } from "../../domain/routing/failing-circuits.ts";
import type { AnnouncedModel, WorkspaceNode } from "../../domain/tenancy/node.ts";
import { exponentialBackoffMs } from "../../kit/backoff.ts";
import type { Clock } from "../../kit/clock.ts";
import { cancelTimer, type Timer } from "../../kit/timers.ts";
import type { ConnectedNode } from "./tunnel-hub.ts";

/** A connected node gets no requests until `untilMs`, because a response was implausible. */
export type OpenNodeCircuit = { readonly reason: string; readonly sinceMs: number; readonly untilMs: number };

type NodeError = { readonly atMs: number; readonly message: string };

export type NodeCircuitRules = {
  /** How long the circuit opens first; it doubles with every further opening. */
  readonly initialMs: number;
  readonly maxMs: number;
};

/** After this long without an implausible response, the duration starts at `initialMs` again. */
const RESET_AFTER_MS = 3_600_000;

/** One node of the registry, with everything this process knows about it. */
export class NodeEntry {
  node: WorkspaceNode;
  /** The connection to this instance, and the best one to another instance. */
  #local: ConnectedNode | undefined;
  #remote: ConnectedNode | undefined;
  #isLeaving = false;
  openCircuit: OpenNodeCircuit | null = null;
  lastError: NodeError | null = null;
  lastSeenAtMs: number | null;
  /** Separate for each node: another workspace may have endpoints of the same name. */
  breakers: CircuitBreakers;
  readonly health = new LatencyTracker();
  readonly #clock: Clock;
  readonly #breakerRules: CircuitBreakerRules;
  #inFlight = 0;
  #openings = 0;
  #recovery: Timer | undefined;

  constructor(node: WorkspaceNode, clock: Clock, breakerRules: CircuitBreakerRules) {
    this.node = node;
    this.lastSeenAtMs = node.lastSeenAtMs;
    this.#clock = clock;
    this.#breakerRules = breakerRules;
    this.breakers = new CircuitBreakers(clock, breakerRules);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** All models of a node share its slots: they run on one machine. */
  acquire(): "taken" | "full" {
    if (this.#inFlight >= (this.live?.announcement.capacity ?? Infinity)) return "full";
    this.#inFlight += 1;
    return "taken";
  }

  /** A further slot for a request that already has one: half of the slots are left to other requests. */
  acquireExtra(): "taken" | "full" {
    if (2 * (this.#inFlight + 1) > (this.live?.announcement.capacity ?? Infinity)) return "full";
    this.#inFlight += 1;
    return "taken";
  }

  release(): void {
    this.#inFlight -= 1;
  }

  /** The local connection, unless this instance is stopping and another instance has one. */
  get live(): ConnectedNode | undefined {
    return this.#isLeaving ? (this.#remote ?? this.#local) : (this.#local ?? this.#remote);
  }

  setLocalConnection(live: ConnectedNode): void {
    this.#setConnections(live, this.#remote);
  }

  clearLocalConnection(): void {
    this.#setConnections(undefined, this.#remote);
  }

  setRemoteConnection(live: ConnectedNode | undefined): void {
    if (!isEqual(live, this.#remote)) this.#setConnections(this.#local, live);
  }

  /** This instance is stopping: prefer connections to other instances. */
  startLeaving(): ConnectedNode | undefined {
    this.#isLeaving = true;
    return this.#local;
  }

  #setConnections(local: ConnectedNode | undefined, remote: ConnectedNode | undefined): void {
    const previous = this.live;
    this.#local = local;
    this.#remote = remote;
    if (previous !== undefined || this.live !== undefined) this.lastSeenAtMs = this.#clock.nowMs();
    // A new connection resets the circuit breakers: the node may have been restarted.
    const current = this.live;
    if (
      current === undefined ||
      (current.connectedAtMs === previous?.connectedAtMs && current.instance === previous.instance)
    )
      return;
    this.breakers = new CircuitBreakers(this.#clock, this.#breakerRules);
  }

  recordError(message: string): void {
    this.lastError = { atMs: this.#clock.nowMs(), message };
  }

  /** Empty while the node is offline or its circuit is open. */
  get servedModels(): readonly AnnouncedModel[] {
    return this.openCircuit === null ? (this.announcedModels ?? []) : [];
  }

  /** Undefined while the node is offline. */
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

  /** Returns how long the circuit stays open. */
  recordCircuitOpening(reason: string, { initialMs, maxMs }: NodeCircuitRules): number {
    const nowMs = this.#clock.nowMs();
    this.#openings = this.#isReset(nowMs) ? 1 : this.#openings + 1;
    const openMs = exponentialBackoffMs(this.#openings - 1, initialMs, maxMs);
    this.openCircuit = { reason, sinceMs: nowMs, untilMs: nowMs + openMs };
    this.#recoveredAtMs = this.openCircuit.untilMs;
    this.recordError(reason);
    return openMs;
  }

  #recoveredAtMs = 0;

  #isReset(nowMs: number): boolean {
    return nowMs - this.#recoveredAtMs > RESET_AFTER_MS;
  }

  /** `timer` closes the circuit again. */
  setRecoveryTimer(timer: Timer): void {
    cancelTimer(this.#recovery);
    this.#recovery = timer;
  }

  cancelRecovery(): void {
    cancelTimer(this.#recovery);
  }
}

function isEqual(left: ConnectedNode | undefined, right: ConnectedNode | undefined): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}
