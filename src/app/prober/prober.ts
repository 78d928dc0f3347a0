import { type CallContext, usability } from "../../domain/catalogue/callable.ts";
import type { Connections, Endpoint, Snapshot } from "../../domain/catalogue/catalogue.ts";
import {
  isAhead,
  isMadeToFail,
  type Proof,
  type ProofBook,
  type ProofStanding,
  type ProofStore,
  type ProvenSurface,
  subjectOf,
} from "../../domain/catalogue/proofs.ts";
import { type AskingParts, askLane } from "../../io/upstream/ask-lane.ts";
import { exponentialBackoffMs } from "../../kit/backoff.ts";
import type { IdGenerator } from "../../kit/id-generator.ts";
import type { Log } from "../../kit/log.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../kit/time.ts";
import { cancelTimer, type Timer } from "../../kit/timers.ts";
import { proveDecisions } from "./decisions-proof.ts";
import { type Ask, type Candidate, type Finding, failure } from "./probe.ts";
import { proveSpeech } from "./speech-proof.ts";

export type ProberParts = AskingParts & {
  readonly snapshot: () => Snapshot;
  readonly connections: Connections;
  readonly book: ProofBook;
  readonly store: ProofStore;
  readonly ids: IdGenerator;
  /** The surfaces that this deployment serves. */
  readonly surfaces: readonly ProvenSurface[];
  /** How often a proof is repeated; null: only simulated providers are asked unasked. */
  readonly everyMs: number | null;
  readonly maxAgeMs: number;
  readonly keepMs: number;
  /** Whether this instance is the one that asks; the others read what it found. */
  readonly leads: () => boolean;
  readonly told: (proof: Proof, candidate: Candidate) => void;
  readonly warn: Log["warn"];
};

/** Where an endpoint stands: proven or not, and by what. */
export type Proved = Candidate & {
  readonly proven: boolean;
  /** Whether pictures are sent to it; null: the catalogue names none. */
  readonly images: boolean | null;
  readonly standing: ProofStanding | undefined;
};

const PROOFS: Readonly<Record<ProvenSurface, (candidate: Candidate, ask: Ask) => Promise<Finding>>> = {
  decisions: proveDecisions,
  speech: proveSpeech,
};

const AT_ONCE = 8;
/** An endpoint that failed is asked again after this long, then after twice as long, up to the usual time. */
const AGAIN_MS = 10 * MINUTE_MS;
/** Endpoints are spread over this share of the time between two proofs. */
const SPREAD = 0.1;
/** The catalogue's prices have dates, so who can be asked at all is looked up again. */
const LOOK_MS = HOUR_MS;
/** How often it is looked for what others proved, and how late a proof may get into the store. */
const FOLLOW_MS = 15_000;
const LATE_MS = 10 * MINUTE_MS;

/** Asks endpoints whether they do what the catalogue says: at the start, now and again, and when told to. */
export class Prober {
  readonly #parts: ProberParts;
  readonly #running = new Map<string, Promise<Proof | undefined>>();
  readonly #ending = new AbortController();
  /** Proofs from then on may not have been read yet; of these, those that were. */
  #readUntilMs = 0;
  #taken: ReadonlySet<string> = new Set();
  #timer: Timer | undefined;
  #round: Promise<unknown> = Promise.resolve();

  constructor(parts: ProberParts) {
    this.#parts = parts;
  }

  /** What earlier processes proved. */
  async load(): Promise<void> {
    const { clock, maxAgeMs } = this.#parts;
    this.#readUntilMs = clock.nowMs() - maxAgeMs;
    await this.follow();
  }

  /** What others proved since it was last looked for. */
  async follow(): Promise<void> {
    const { store, book, clock } = this.#parts;
    const nowMs = clock.nowMs();
    const kept = await store.since(this.#readUntilMs);
    book.take(kept.filter(({ id, atMs }) => !this.#taken.has(id) && !isAhead(atMs, nowMs)));
    this.#readUntilMs = Math.max(this.#readUntilMs, nowMs - LATE_MS);
    this.#taken = new Set(kept.filter(({ atMs }) => atMs >= this.#readUntilMs).map(({ id }) => id));
  }

  get history(): ProofStore["history"] {
    return this.#parts.store.history;
  }

  get maxAgeMs(): number {
    return this.#parts.maxAgeMs;
  }

  /** Every endpoint that could be called, were it proven, and whether it is. */
  all(): readonly Proved[] {
    const { snapshot, connections, clock, surfaces, book } = this.#parts;
    const nowMs = clock.nowMs();
    const context: CallContext = {
      snapshot: snapshot(),
      connections,
      proofs: ASSUMED,
      walletCurrency: WALLET_CURRENCY,
      nowMs,
    };
    const found: Proved[] = [];
    for (const endpoint of snapshot().endpoints.values())
      for (const surface of surfaces) {
        const candidate = candidateOf(endpoint, surface, context, snapshot());
        if (candidate === undefined) continue;
        const [proven, standing] = [book.isProven(endpoint, surface, nowMs), book.standing(endpoint, surface)];
        const hasImages = surface === "decisions" && endpoint.decisions?.images != null;
        found.push({ ...candidate, proven, images: hasImages ? book.takesImages(endpoint, nowMs) : null, standing });
      }
    return found;
  }

  /** Asks all of them, a few at a time; each answer is kept as it comes. */
  async prove(candidates: readonly Candidate[], cause: Proof["cause"]): Promise<readonly Proof[]> {
    const made: Proof[] = [];
    const waiting = [...candidates];
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const proof = await this.#proveOnce(next, cause);
        if (proof !== undefined) made.push(proof);
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, waiting.length) }, work));
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
    this.#ending.abort();
    cancelTimer(this.#timer);
    await Promise.all([this.#round, ...this.#running.values()]);
  }

  async #runDue(cause: "start" | "schedule"): Promise<void> {
    const { clock, store, keepMs, warn } = this.#parts;
    const leads = this.#parts.leads();
    try {
      const nowMs = clock.nowMs();
      if (!leads) await this.follow();
      else
        await this.prove(
          this.all().filter((one) => this.#dueMs(one) <= nowMs),
          cause,
        );
      if (leads && !this.#ending.signal.aborted) await store.sweep(nowMs - keepMs);
    } catch (error) {
      warn({ err: error }, "proofs of endpoints could not be made; they are tried again");
    }
    if (this.#ending.signal.aborted) return;
    const nextMs = Math.min(...this.all().map((one) => this.#dueMs(one)), clock.nowMs() + LOOK_MS);
    const waitMs = leads ? Math.max(1_000, nextMs - clock.nowMs()) : FOLLOW_MS;
    this.#timer = this.#parts.timers.after(waitMs, () => {
      this.#round = this.#runDue("schedule");
    });
  }

  #dueMs({ endpoint, standing }: Proved): number {
    const { everyMs, maxAgeMs } = this.#parts;
    if (everyMs === null && !endpoint.sandbox) return Number.POSITIVE_INFINITY;
    if (standing === undefined) return 0;
    const { last, images } = standing;
    if (isAhead(last.atMs, this.#parts.clock.nowMs())) return 0;
    // Before the last proof is too old, there is time for a second try.
    const usualMs = Math.min(everyMs ?? DAY_MS, maxAgeMs / 2);
    const failures = Math.max(standing.failures, images.failures);
    const waitMs = failures === 0 ? usualMs : exponentialBackoffMs(failures - 1, AGAIN_MS, usualMs);
    return last.atMs + Math.ceil(waitMs * (1 - SPREAD * placeOf(last.id)));
  }

  #proveOnce(candidate: Candidate, cause: Proof["cause"]): Promise<Proof | undefined> {
    const key = `${candidate.surface} ${candidate.endpoint.id}`;
    // Who asks for one that is being made gets that one.
    const running = this.#running.get(key) ?? this.#make(candidate, cause).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  async #make(candidate: Candidate, cause: Proof["cause"]): Promise<Proof | undefined> {
    const { clock, ids, connections, book, store, told, warn } = this.#parts;
    const { endpoint, surface, baseUrl } = candidate;
    const { signal } = this.#ending;
    const credential = connections.credential(endpoint.provider);
    const ask: Ask = (lane, heard) =>
      askLane({ lane, endpoint, baseUrl, credential, signal, ...(heard === undefined ? {} : { heard }) }, this.#parts);
    const started = clock.monotonicMs();
    const finding = await PROOFS[surface](candidate, ask).catch((error: unknown) => {
      warn({ err: error, endpoint: endpoint.id, surface }, "an endpoint could not be asked");
      return failure("the gateway could not ask");
    });
    // What was given up because the gateway stops says nothing about anybody.
    if (signal.aborted) return undefined;
    const proof: Proof = {
      id: ids.next("prf_"),
      endpoint: endpoint.id,
      surface,
      subject: subjectOf(endpoint, surface, connections),
      atMs: clock.nowMs(),
      cause,
      durationMs: Math.round(clock.monotonicMs() - started),
      ...finding,
    };
    book.take([proof]);
    this.#taken = new Set([...this.#taken, proof.id]);
    told(proof, candidate);
    await store.append([proof]).catch((error: unknown) => {
      warn({ err: error, endpoint: endpoint.id, surface }, "a proof could not be kept; it holds until the next start");
    });
    return proof;
  }
}

/** Whether it is proven is what is to be found out. */
const ASSUMED = { isProven: () => true };

/** Every catalogue has a rate for it: rates are stated by it. */
const WALLET_CURRENCY = "EUR";

function candidateOf(
  endpoint: Endpoint,
  surface: ProvenSurface,
  context: CallContext,
  snapshot: Snapshot,
): Candidate | undefined {
  const model = snapshot.models.get(endpoint.model);
  if (model === undefined || isMadeToFail(endpoint, snapshot)) return undefined;
  const usable = usability(endpoint, surface, context);
  if (usable.is === "not_callable") return undefined;
  return { endpoint, surface, model, price: usable.price, baseUrl: usable.baseUrl };
}

/** A place between 0 and 1 that stays the same for a proof: its id ends at random. */
function placeOf(id: string): number {
  const digits = Number.parseInt(id.slice(-4), 16);
  return Number.isNaN(digits) ? 0 : digits / 0xffff;
}
