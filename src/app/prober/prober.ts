import { type CallabilityContext, checkCallability } from "../../domain/catalogue/callability.ts";
import type { CatalogueSnapshot, Endpoint, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import {
  isFailureDemo,
  isInFuture,
  type ProofRegistry,
  type ProofStatus,
  type ProofStore,
  type ProvenSurface,
  proofSubject,
  type SurfaceProof,
} from "../../domain/catalogue/proofs.ts";
import { type AskingParts, askLane } from "../../io/upstream/ask-lane.ts";
import { exponentialBackoffMs } from "../../kit/backoff.ts";
import type { IdGenerator } from "../../kit/id-generator.ts";
import type { Log } from "../../kit/log.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../kit/time.ts";
import { cancelTimer, type Timer } from "../../kit/timers.ts";
import { proveDecisions } from "./decisions-proof.ts";
import { failedFinding, type ProbeCall, type ProbeFinding, type ProbeTarget } from "./probe.ts";
import { proveSpeech } from "./speech-proof.ts";

export type ProberDeps = AskingParts & {
  readonly snapshot: () => CatalogueSnapshot;
  readonly connections: ProviderConnections;
  readonly proofs: ProofRegistry;
  readonly store: ProofStore;
  readonly ids: IdGenerator;
  /** The surfaces that this deployment serves. */
  readonly surfaces: readonly ProvenSurface[];
  /** How often a proof is repeated; null: only simulated providers are asked unasked. */
  readonly everyMs: number | null;
  readonly maxAgeMs: number;
  readonly keepMs: number;
  /** Whether this instance is the one that asks; the others read what it found. */
  readonly isLeader: () => boolean;
  readonly onProof: (proof: SurfaceProof, candidate: ProbeTarget) => void;
  readonly warn: Log["warn"];
};

/** Where an endpoint stands: proven or not, and by what. */
export type EndpointProof = ProbeTarget & {
  readonly proven: boolean;
  /** Whether pictures are sent to it; null: the catalogue names none. */
  readonly images: boolean | null;
  readonly standing: ProofStatus | undefined;
};

const PROBES: Readonly<Record<ProvenSurface, (candidate: ProbeTarget, ask: ProbeCall) => Promise<ProbeFinding>>> = {
  decisions: proveDecisions,
  speech: proveSpeech,
};

const CONCURRENCY = 8;
/** An endpoint that failed is asked again after this long, then after twice as long, up to the usual time. */
const RETRY_MS = 10 * MINUTE_MS;
/** Endpoints are spread over this share of the time between two proofs. */
const SPREAD = 0.1;
/** The catalogue's prices have dates, so who can be asked at all is looked up again. */
const RECHECK_MS = HOUR_MS;
/** How often it is looked for what others proved, and how late a proof may get into the store. */
const FOLLOW_MS = 15_000;
const LATE_MS = 10 * MINUTE_MS;

/** Asks endpoints whether they do what the catalogue says: at the start, now and again, and when told to. */
export class Prober {
  readonly #deps: ProberDeps;
  readonly #running = new Map<string, Promise<SurfaceProof | undefined>>();
  readonly #shutdown = new AbortController();
  /** Proofs from then on may not have been read yet; of these, those that were. */
  #readUntilMs = 0;
  #loadedIds: ReadonlySet<string> = new Set();
  #timer: Timer | undefined;
  #round: Promise<unknown> = Promise.resolve();

  constructor(parts: ProberDeps) {
    this.#deps = parts;
  }

  /** What earlier processes proved. */
  async load(): Promise<void> {
    const { clock, maxAgeMs } = this.#deps;
    this.#readUntilMs = clock.nowMs() - maxAgeMs;
    await this.loadNew();
  }

  /** What others proved since it was last looked for. */
  async loadNew(): Promise<void> {
    const { store, proofs, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const kept = await store.since(this.#readUntilMs);
    proofs.record(kept.filter(({ id, atMs }) => !this.#loadedIds.has(id) && !isInFuture(atMs, nowMs)));
    this.#readUntilMs = Math.max(this.#readUntilMs, nowMs - LATE_MS);
    this.#loadedIds = new Set(kept.filter(({ atMs }) => atMs >= this.#readUntilMs).map(({ id }) => id));
  }

  get history(): ProofStore["history"] {
    return this.#deps.store.history;
  }

  get maxAgeMs(): number {
    return this.#deps.maxAgeMs;
  }

  /** Every endpoint that could be called, were it proven, and whether it is. */
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
    const found: EndpointProof[] = [];
    for (const endpoint of snapshot().endpoints.values())
      for (const surface of surfaces) {
        const candidate = probeTargetOf(endpoint, surface, context, snapshot());
        if (candidate === undefined) continue;
        const [proven, standing] = [proofs.isProven(endpoint, surface, nowMs), proofs.standing(endpoint, surface)];
        const hasImages = surface === "decisions" && endpoint.decisions?.images != null;
        found.push({
          ...candidate,
          proven,
          images: hasImages ? proofs.acceptsImages(endpoint, nowMs) : null,
          standing,
        });
      }
    return found;
  }

  /** Asks all of them, a few at a time; each answer is kept as it comes. */
  async prove(candidates: readonly ProbeTarget[], cause: SurfaceProof["cause"]): Promise<readonly SurfaceProof[]> {
    const made: SurfaceProof[] = [];
    const waiting = [...candidates];
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const proof = await this.#proveOnce(next, cause);
        if (proof !== undefined) made.push(proof);
      }
    };
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, waiting.length) }, work));
    return made;
  }

  /** Simulated providers: over before anybody is served. */
  async proveSandbox(): Promise<void> {
    const missing = this.all().filter(({ endpoint, proven }) => endpoint.sandbox && !proven);
    await this.prove(missing, "start");
  }

  /** From now on, until it is stopped. */
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
      warn({ err: error }, "proofs of endpoints could not be made; they are tried again");
    }
    if (this.#shutdown.signal.aborted) return;
    const nextMs = Math.min(...this.all().map((one) => this.#dueMs(one)), clock.nowMs() + RECHECK_MS);
    const waitMs = leads ? Math.max(1_000, nextMs - clock.nowMs()) : FOLLOW_MS;
    this.#timer = this.#deps.timers.after(waitMs, () => {
      this.#round = this.#runDue("schedule");
    });
  }

  #dueMs({ endpoint, standing }: EndpointProof): number {
    const { everyMs, maxAgeMs } = this.#deps;
    if (everyMs === null && !endpoint.sandbox) return Number.POSITIVE_INFINITY;
    if (standing === undefined) return 0;
    const { last, images } = standing;
    if (isInFuture(last.atMs, this.#deps.clock.nowMs())) return 0;
    // Before the last proof is too old, there is time for a second try.
    const usualMs = Math.min(everyMs ?? DAY_MS, maxAgeMs / 2);
    const failures = Math.max(standing.failures, images.failures);
    const waitMs = failures === 0 ? usualMs : exponentialBackoffMs(failures - 1, RETRY_MS, usualMs);
    return last.atMs + Math.ceil(waitMs * (1 - SPREAD * jitterOf(last.id)));
  }

  #proveOnce(candidate: ProbeTarget, cause: SurfaceProof["cause"]): Promise<SurfaceProof | undefined> {
    const key = `${candidate.surface} ${candidate.endpoint.id}`;
    // Who asks for one that is being made gets that one.
    const running = this.#running.get(key) ?? this.#runProbe(candidate, cause).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  async #runProbe(candidate: ProbeTarget, cause: SurfaceProof["cause"]): Promise<SurfaceProof | undefined> {
    const { clock, ids, connections, proofs, store, onProof, warn } = this.#deps;
    const { endpoint, surface, baseUrl } = candidate;
    const { signal } = this.#shutdown;
    const credential = connections.credential(endpoint.provider);
    const ask: ProbeCall = (lane, heard) =>
      askLane({ lane, endpoint, baseUrl, credential, signal, ...(heard === undefined ? {} : { heard }) }, this.#deps);
    const started = clock.monotonicMs();
    const finding = await PROBES[surface](candidate, ask).catch((error: unknown) => {
      warn({ err: error, endpoint: endpoint.id, surface }, "an endpoint could not be asked");
      return failedFinding("the gateway could not ask");
    });
    // What was given up because the gateway stops says nothing about anybody.
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
    onProof(proof, candidate);
    await store.append([proof]).catch((error: unknown) => {
      warn({ err: error, endpoint: endpoint.id, surface }, "a proof could not be kept; it holds until the next start");
    });
    return proof;
  }
}

/** Whether it is proven is what is to be found out. */
const ASSUME_PROVEN = { isProven: () => true };

/** Every catalogue has a rate for it: rates are stated by it. */
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

/** A place between 0 and 1 that stays the same for a proof: its id ends at random. */
function jitterOf(id: string): number {
  const digits = Number.parseInt(id.slice(-4), 16);
  return Number.isNaN(digits) ? 0 : digits / 0xffff;
}
