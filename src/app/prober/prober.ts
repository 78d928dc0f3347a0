import { type CallabilityContext, checkCallability } from "../../domain/catalogue/callability.ts";
import type { CatalogueSnapshot, Endpoint, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import type { ProofRegistry } from "../../domain/catalogue/proof-registry.ts";
import {
  isFailureDemo,
  isInFuture,
  type ProofStatus,
  type ProofStore,
  type ProvenSurface,
  proofSubject,
  type SurfaceProof,
} from "../../domain/catalogue/proofs.ts";
import { callEndpoint, type EndpointCallDeps } from "../../io/upstream/endpoint-call.ts";
import { exponentialBackoffMs } from "../../kit/backoff.ts";
import type { IdGenerator } from "../../kit/id-generator.ts";
import type { Log } from "../../kit/log.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../kit/time.ts";
import { cancelTimer, type Timer } from "../../kit/timers.ts";
import { proveDecisions } from "./decisions-proof.ts";
import { failedFinding, type ProbeCall, type ProbeFinding, type ProbeTarget } from "./probe.ts";
import { proveSpeech } from "./speech-proof.ts";

export type ProberDeps = EndpointCallDeps & {
  readonly snapshot: () => CatalogueSnapshot;
  readonly connections: ProviderConnections;
  readonly proofs: ProofRegistry;
  readonly store: ProofStore;
  readonly ids: IdGenerator;
  readonly surfaces: readonly ProvenSurface[];
  /** The interval of scheduled probes; null: only simulated providers are probed on a schedule. */
  readonly everyMs: number | null;
  readonly maxAgeMs: number;
  readonly keepMs: number;
  /** Only the leader probes; the other instances load its proofs. */
  readonly isLeader: () => boolean;
  readonly onProof: (proof: SurfaceProof, target: ProbeTarget) => void;
  readonly warn: Log["warn"];
};

/** A probe target and its current proof. */
export type EndpointProof = ProbeTarget & {
  readonly proven: boolean;
  /** Whether it gets images; null: the catalogue lists no image input. */
  readonly images: boolean | null;
  readonly status: ProofStatus | undefined;
};

const PROBES: Readonly<Record<ProvenSurface, (target: ProbeTarget, ask: ProbeCall) => Promise<ProbeFinding>>> = {
  decisions: proveDecisions,
  speech: proveSpeech,
};

const CONCURRENCY = 8;
/** First retry after a failed probe; doubles up to the regular interval. */
const RETRY_MS = 10 * MINUTE_MS;
/** Jitter, as a share of the interval. */
const SPREAD = 0.1;
/** Targets are recomputed at least this often, because catalogue prices have dates. */
const RECHECK_MS = HOUR_MS;
/** How often followers load new proofs, and how late a proof may appear in the store. */
const LOAD_NEW_MS = 15_000;
const STORE_DELAY_MAX_MS = 10 * MINUTE_MS;

/** Proves that endpoints do what the catalogue says: at start, on a schedule and on demand. */
export class Prober {
  readonly #deps: ProberDeps;
  readonly #running = new Map<string, Promise<SurfaceProof | undefined>>();
  readonly #shutdown = new AbortController();
  /** Proofs since this time may be missing; `#loadedIds` are the ones already loaded. */
  #readUntilMs = 0;
  #loadedIds: ReadonlySet<string> = new Set();
  #timer: Timer | undefined;
  #round: Promise<unknown> = Promise.resolve();

  constructor(parts: ProberDeps) {
    this.#deps = parts;
  }

  /** Loads the proofs of earlier processes. */
  async load(): Promise<void> {
    const { clock, maxAgeMs } = this.#deps;
    this.#readUntilMs = clock.nowMs() - maxAgeMs;
    await this.loadNew();
  }

  /** Loads proofs that other instances stored since the last call. */
  async loadNew(): Promise<void> {
    const { store, proofs, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const stored = await store.since(this.#readUntilMs);
    proofs.record(stored.filter(({ id, atMs }) => !this.#loadedIds.has(id) && !isInFuture(atMs, nowMs)));
    this.#readUntilMs = Math.max(this.#readUntilMs, nowMs - STORE_DELAY_MAX_MS);
    this.#loadedIds = new Set(stored.filter(({ atMs }) => atMs >= this.#readUntilMs).map(({ id }) => id));
  }

  get history(): ProofStore["history"] {
    return this.#deps.store.history;
  }

  get maxAgeMs(): number {
    return this.#deps.maxAgeMs;
  }

  /** All probe targets with their current proofs. */
  all(): readonly EndpointProof[] {
    const { snapshot, connections, clock, surfaces, proofs } = this.#deps;
    const nowMs = clock.nowMs();
    const context: CallabilityContext = {
      snapshot: snapshot(),
      connections,
      proofs: ASSUME_PROVEN,
      walletCurrency: WALLET_CURRENCY,
      nowMs,
    };
    const targets: EndpointProof[] = [];
    for (const endpoint of snapshot().endpoints.values())
      for (const surface of surfaces) {
        const target = probeTargetOf(endpoint, surface, context, snapshot());
        if (target === undefined) continue;
        const [proven, status] = [proofs.isProven(endpoint, surface, nowMs), proofs.status(endpoint, surface)];
        const hasImages = surface === "decisions" && endpoint.decisions?.images != null;
        targets.push({
          ...target,
          proven,
          images: hasImages ? proofs.acceptsImages(endpoint, nowMs) : null,
          status,
        });
      }
    return targets;
  }

  /** Probes all targets with bounded concurrency and stores each proof as it completes. */
  async prove(targets: readonly ProbeTarget[], cause: SurfaceProof["cause"]): Promise<readonly SurfaceProof[]> {
    const proofs: SurfaceProof[] = [];
    const queue = [...targets];
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const proof = await this.#proveOnce(next, cause);
        if (proof !== undefined) proofs.push(proof);
      }
    };
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, queue.length) }, work));
    return proofs;
  }

  /** Probes unproven simulated endpoints, before the gateway is ready. */
  async proveSandbox(): Promise<void> {
    const missing = this.all().filter(({ endpoint, proven }) => endpoint.sandbox && !proven);
    await this.prove(missing, "start");
  }

  /** Starts the schedule. */
  start(): void {
    this.#round = this.#runDue("start");
  }

  async stop(): Promise<void> {
    this.#shutdown.abort();
    cancelTimer(this.#timer);
    await Promise.all([this.#round, ...this.#running.values()]);
  }

  async #runDue(cause: "start" | "schedule"): Promise<void> {
    const { clock, store, keepMs, warn } = this.#deps;
    const leads = this.#deps.isLeader();
    try {
      const nowMs = clock.nowMs();
      if (!leads) await this.loadNew();
      else
        await this.prove(
          this.all().filter((one) => this.#dueMs(one) <= nowMs),
          cause,
        );
      if (leads && !this.#shutdown.signal.aborted) await store.sweep(nowMs - keepMs);
    } catch (error) {
      warn({ err: error }, "prober: run failed, will be retried");
    }
    if (this.#shutdown.signal.aborted) return;
    const nextMs = Math.min(...this.all().map((one) => this.#dueMs(one)), clock.nowMs() + RECHECK_MS);
    const waitMs = leads ? Math.max(1_000, nextMs - clock.nowMs()) : LOAD_NEW_MS;
    this.#timer = this.#deps.timers.after(waitMs, () => {
      this.#round = this.#runDue("schedule");
    });
  }

  #dueMs({ endpoint, status }: EndpointProof): number {
    const { everyMs, maxAgeMs } = this.#deps;
    if (everyMs === null && !endpoint.sandbox) return Number.POSITIVE_INFINITY;
    if (status === undefined) return 0;
    const { last, images } = status;
    if (isInFuture(last.atMs, this.#deps.clock.nowMs())) return 0;
    // Half the maximum age, so that a failed probe can be repeated before the last proof expires.
    const usualMs = Math.min(everyMs ?? DAY_MS, maxAgeMs / 2);
    const failures = Math.max(status.failures, images.failures);
    const waitMs = failures === 0 ? usualMs : exponentialBackoffMs(failures - 1, RETRY_MS, usualMs);
    return last.atMs + Math.ceil(waitMs * (1 - SPREAD * jitterOf(last.id)));
  }

  #proveOnce(target: ProbeTarget, cause: SurfaceProof["cause"]): Promise<SurfaceProof | undefined> {
    const key = `${target.surface} ${target.endpoint.id}`;
    // Concurrent requests share one probe.
    const running = this.#running.get(key) ?? this.#runProbe(target, cause).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  async #runProbe(target: ProbeTarget, cause: SurfaceProof["cause"]): Promise<SurfaceProof | undefined> {
    const { clock, ids, connections, proofs, store, onProof, warn } = this.#deps;
    const { endpoint, surface, baseUrl } = target;
    const { signal } = this.#shutdown;
    const credential = connections.credential(endpoint.provider);
    const call: ProbeCall = (adapter, onAudio) =>
      callEndpoint(
        { adapter, endpoint, baseUrl, credential, signal, ...(onAudio === undefined ? {} : { onAudio }) },
        this.#deps,
      );
    const started = clock.monotonicMs();
    const finding = await PROBES[surface](target, call).catch((error: unknown) => {
      warn({ err: error, endpoint: endpoint.id, surface }, "prober: probe failed");
      return failedFinding("the gateway could not send the probe");
    });
    // A probe aborted by the shutdown proves nothing.
    if (signal.aborted) return undefined;
    const proof: SurfaceProof = {
      id: ids.next("prf_"),
      endpoint: endpoint.id,
      surface,
      subject: proofSubject(endpoint, surface, connections),
      atMs: clock.nowMs(),
      cause,
      durationMs: Math.round(clock.monotonicMs() - started),
      ...finding,
    };
    proofs.record([proof]);
    this.#loadedIds = new Set([...this.#loadedIds, proof.id]);
    onProof(proof, target);
    await store.append([proof]).catch((error: unknown) => {
      warn({ err: error, endpoint: endpoint.id, surface }, "prober: proof not stored, valid until restart");
    });
    return proof;
  }
}

/** Leaves the proof out of the eligibility check. */
const ASSUME_PROVEN = { isProven: () => true };

/** Any currency works; every catalogue has a rate for this one. */
const WALLET_CURRENCY = "EUR";

function probeTargetOf(
  endpoint: Endpoint,
  surface: ProvenSurface,
  context: CallabilityContext,
  snapshot: CatalogueSnapshot,
): ProbeTarget | undefined {
  const model = snapshot.models.get(endpoint.model);
  if (model === undefined || isFailureDemo(endpoint, snapshot)) return undefined;
  const usable = checkCallability(endpoint, surface, context);
  if (usable.is === "not_callable") return undefined;
  return { endpoint, surface, model, price: usable.price, baseUrl: usable.baseUrl };
}

/** A stable value from 0 to 1, from the random end of the proof's id. */
function jitterOf(id: string): number {
  const digits = Number.parseInt(id.slice(-4), 16);
  return Number.isNaN(digits) ? 0 : digits / 0xffff;
}
