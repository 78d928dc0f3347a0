import { PROVIDERS } from "./catalogue.ts";
import type { Chance } from "./chance.ts";
import { TROUBLES, type Trouble } from "./script.ts";

type Outage = { readonly provider: string; readonly fromMs: number; readonly toMs: number; readonly trouble: Trouble };

const ADMIN_ACTS = ["workspace", "key", "router", "catalogue", "connection", "revoke", "topup"] as const;
export type AdminAct = (typeof ADMIN_ACTS)[number];

/**
 * The kind of world a seed makes. Every seed enables some faults and leaves the rest out, so that each occurs alone and
 * combined, often and rarely.
 */
export class FaultProfile {
  readonly requests: number;
  readonly overMs: number;
  readonly adminActs: readonly AdminAct[];
  readonly adminTimes: number;
  readonly crashAtMs: readonly number[];
  readonly diskFails: { readonly fromMs: number; readonly toMs: number } | undefined;
  readonly queue: { readonly slots: number; readonly queuedMax: number; readonly waitMs: number };
  readonly slotsPerEndpoint: number;
  readonly attemptsMax: number;
  readonly requestTimeoutMs: number;
  readonly leaveShare: number;
  readonly slowShare: number;
  readonly state: "at_once" | "later";
  readonly creditNanos: bigint;
  /** Providers whose credential is fetched again for every call. */
  readonly minted: readonly string[];
  readonly disconnected: readonly string[];
  readonly #chance: Chance;
  readonly #troubles: readonly Trouble[];
  readonly #troubleShare: number;
  readonly #outages: readonly Outage[];
  #isCalm = false;

  constructor(chance: Chance) {
    const isStorm = chance.is(0.25);
    this.#chance = chance;
    this.requests = isStorm ? chance.between(24, 40) : chance.between(6, 24);
    this.overMs = isStorm ? chance.between(50, 800) : chance.between(2000, 12_000);
    this.#troubles = chance.is(0.1) ? [] : chance.atLeastOne(TROUBLES, chance.pick([0.1, 0.3, 0.6]));
    this.#troubleShare = chance.pick([0.05, 0.2, 0.5, 0.9]);
    this.#outages = isStorm && chance.is(0.5) ? this.#blackout() : this.#drawOutages();
    this.adminActs = chance.some(ADMIN_ACTS, 0.6);
    this.adminTimes = this.adminActs.length === 0 ? 0 : chance.pick([3, 10, 30]);
    this.crashAtMs = chance.is(0.35)
      ? Array.from({ length: chance.between(1, 2) }, () => chance.between(50, this.overMs + 2000))
      : [];
    const failsAtMs = chance.between(0, this.overMs);
    this.diskFails = chance.is(0.2) ? { fromMs: failsAtMs, toMs: failsAtMs + chance.between(100, 3000) } : undefined;
    this.queue = {
      slots: chance.is(0.4) ? chance.between(1, 6) : chance.pick([0, 64]),
      queuedMax: chance.between(1, 12),
      waitMs: chance.between(50, 1500),
    };
    this.slotsPerEndpoint = chance.is(0.4) ? chance.between(1, 4) : 0;
    this.attemptsMax = chance.pick([2, 3, 5]);
    this.requestTimeoutMs = chance.pick([1500, 5000, 20_000]);
    this.leaveShare = chance.pick([0, 0.1, 0.4]);
    this.slowShare = chance.pick([0, 0.1, 0.5]);
    this.state = chance.is(0.3) ? "later" : "at_once";
    this.creditNanos = chance.is(0.2) ? BigInt(chance.between(0, 20)) * 1_000_000n : 10_000_000_000n;
    this.minted = chance.is(0.4) ? [] : chance.some(PROVIDERS, 0.4);
    this.disconnected = chance.some(PROVIDERS, 0.1);
  }

  /** Faults are over: from now on every endpoint works. */
  calmDown(): void {
    this.#isCalm = true;
  }

  get isCalm(): boolean {
    return this.#isCalm;
  }

  troubleFor(provider: string, nowMs: number): Trouble | "well" {
    if (this.#isCalm) return "well";
    for (const outage of this.#outages)
      if (outage.provider === provider && nowMs >= outage.fromMs && nowMs < outage.toMs) return outage.trouble;
    if (this.#troubles.length === 0 || !this.#chance.is(this.#troubleShare)) return "well";
    return this.#chance.pick(this.#troubles);
  }

  /** Every endpoint fails at once, and slowly: when a retry budget is needed most. */
  #blackout(): Outage[] {
    const trouble = this.#chance.pick(["reset", "500", "502", "504", "silent", "429", "503"] as const);
    return PROVIDERS.map((provider) => ({ provider, fromMs: 0, toMs: this.overMs + 2000, trouble }));
  }

  #drawOutages(): Outage[] {
    const chance = this.#chance;
    if (chance.is(0.5)) return [];
    return chance.some(PROVIDERS, chance.pick([0.3, 1])).map((provider) => {
      const fromMs = chance.between(0, this.overMs >> 1);
      return { provider, fromMs, toMs: fromMs + chance.between(500, 60_000), trouble: chance.pick(TROUBLES) };
    });
  }
}
