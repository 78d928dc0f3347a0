import { type Catalogue, drawCatalogue, PROVIDERS } from "./catalogue.ts";
import { Chance } from "./chance.ts";
import { Checks } from "./checks.ts";
import { CircuitModel } from "./circuit-model.ts";
import type { ClientRequest } from "./client-request.ts";
import { FaultProfile } from "./fault-profile.ts";
import { Disk } from "./journal.ts";
import { Network } from "./network.ts";
import type { Process } from "./process.ts";
import { Scheduler } from "./scheduler.ts";
import { copyOf, drawTenancy, type Tenancy } from "./tenants.ts";

/** A violation: which rule, and how. */
export type Violation = { readonly rule: string; readonly what: string; readonly atMs: number };

/** Everything in one run, made from one seed. */
export class World {
  readonly chance: Chance;
  /** For data in requests and the rules about it; a source of its own leaves every other world as it is. */
  readonly data: Chance | undefined;
  readonly scheduler: Scheduler;
  readonly shape: FaultProfile;
  readonly disk: Disk;
  readonly network: Network;
  readonly checks: Checks;
  readonly circuits = new CircuitModel();
  /** When a rule, the catalogue or a connection changed last. */
  changedAtMs = 0;
  readonly visits: ClientRequest[] = [];
  readonly violations: Violation[] = [];
  /** Tenants as SQL has them, and as the running process has them. */
  readonly stored: Tenancy;
  inForce: Tenancy;
  readonly connected: Set<string>;
  /** Since when keys are revoked in the running process. */
  readonly revokedAtMs = new Map<string, number>();
  process: Process | undefined;
  readonly trace: string[] | undefined;
  readonly tally: Record<string, number> = {};
  #catalogue: Catalogue;
  readonly #addresses = new Map<string, string>();
  #hash = 0x811c9dc5;

  constructor(seed: number, tracing: "traced" | "hashed") {
    this.chance = new Chance(seed);
    this.data = seed % 4 === 0 ? new Chance(seed + 1_000_003) : undefined;
    this.trace = tracing === "traced" ? [] : undefined;
    this.scheduler = new Scheduler(this.chance);
    this.shape = new FaultProfile(this.chance);
    this.#catalogue = drawCatalogue(this.chance);
    this.stored = drawTenancy(this.chance, this.data);
    this.inForce = copyOf(this.stored);
    this.connected = new Set(PROVIDERS.filter((provider) => !this.shape.disconnected.includes(provider)));
    this.disk = new Disk(this);
    this.network = new Network(this);
    this.checks = new Checks(this);
    this.catalogue = this.#catalogue;
  }

  get catalogue(): Catalogue {
    return this.#catalogue;
  }

  set catalogue(next: Catalogue) {
    this.#catalogue = next;
    for (const [address, endpointId] of next.byAddress) this.#addresses.set(address, endpointId);
  }

  /** Also endpoints that have moved: a request to the old address still reaches one. */
  endpointAt(address: string): string | undefined {
    return this.#addresses.get(address);
  }

  visitBy(mark: string): ClientRequest | undefined {
    return this.visits[Number(mark.slice(2, -1)) - 1];
  }

  /** For the tally at the end: shows that a run was not empty. */
  count(what: string): void {
    this.tally[what] = (this.tally[what] ?? 0) + 1;
  }

  note(line: string): void {
    const whole = `${this.scheduler.monotonicMs().toFixed(1)} ${line}`;
    for (let at = 0; at < whole.length; at += 1) this.#hash = Math.imul(this.#hash ^ whole.charCodeAt(at), 0x01000193);
    this.trace?.push(whole);
  }

  /** A hash of everything that happened: two runs of a seed have the same. */
  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, "0");
  }

  broken(rule: string, what: string): void {
    this.note(`BROKEN ${rule}: ${what}`);
    this.violations.push({ rule, what, atMs: this.scheduler.monotonicMs() });
  }
}
