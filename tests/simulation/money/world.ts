import type { CatalogueSnapshot } from "../../../src/domain/catalogue/catalogue.ts";
import type { Attempt } from "../../../src/domain/routing/reachable-endpoint.ts";
import type { ApiKey } from "../../../src/domain/tenancy/key.ts";
import type { SpendLimits } from "../../../src/domain/tenancy/limits.ts";
import { OPEN_POLICY } from "../../../src/domain/tenancy/policy.ts";
import type { Member, Workspace } from "../../../src/domain/tenancy/workspace.ts";
import { parseDecimal } from "../../../src/kit/money.ts";
import { endpointOf, modelOf, priceOf } from "../../support/routing.ts";
import { Chance } from "../chance.ts";
import { Scheduler } from "../scheduler.ts";
import type { Violation } from "../world.ts";
import type { ClientRequest } from "./client-request.ts";
import { FaultProfile } from "./fault-profile.ts";
import type { Instance } from "./instance.ts";
import { LedgerAudit } from "./ledger-audit.ts";
import { SharedSql } from "./sql.ts";
import { WalletModel } from "./wallet-model.ts";

/** Per million tokens, in millionths of the price's currency: charges of one or a few tokens need rounding. */
export type Tariff = { readonly currency: string; readonly input: number; readonly output: number };

const CURRENCIES = ["EUR", "USD"] as const;
const WORKSPACES = ["red", "green"] as const;

const MODEL = modelOf("acme/one");
const ENDPOINT = endpointOf({
  provider: "north",
  model: MODEL.id,
  more: { limits: { contextTokens: 20_000, maxInputTokens: null, maxOutputTokens: null } },
});

/** Everything in one run, made from one seed. */
export class World {
  readonly chance: Chance;
  readonly scheduler: Scheduler;
  readonly shape: FaultProfile;
  readonly sql = new SharedSql();
  readonly snapshot: CatalogueSnapshot;
  readonly workspaces: readonly Workspace[];
  readonly members: readonly Member[];
  readonly keys: readonly ApiKey[];
  readonly tariffs: readonly Tariff[];
  readonly examiner: LedgerAudit;
  wallets: WalletModel;
  instances: readonly Instance[] = [];
  readonly orders: ClientRequest[] = [];
  /** The spend limits in SQL. */
  readonly limits = new Map<string, SpendLimits>();
  readonly violations: Violation[] = [];
  readonly trace: string[] | undefined;
  readonly tally: Record<string, number> = {};
  #hash = 0x811c9dc5;

  constructor(seed: number, tracing: "traced" | "hashed") {
    this.chance = new Chance(seed);
    this.trace = tracing === "traced" ? [] : undefined;
    this.scheduler = new Scheduler(this.chance);
    this.shape = new FaultProfile(this.chance);
    this.snapshot = SNAPSHOT;
    this.workspaces = WORKSPACES.map((slug) => workspaceOf(slug, this.chance.pick(CURRENCIES)));
    this.members = this.workspaces.map(({ id, slug }) => ({
      id: `mem_${slug}`,
      workspaceId: id,
      email: `${slug}@example.test`,
      role: "member",
      createdAtMs: 0,
      pending: false,
    }));
    this.keys = this.workspaces.flatMap(({ id, slug }) => [
      keyOf(`key_${slug}_a`, id, null),
      keyOf(`key_${slug}_b`, id, `mem_${slug}`),
      keyOf(`key_${slug}_c`, id, `mem_${slug}`),
    ]);
    this.tariffs = [1, 2, 3].map(() => ({
      currency: this.chance.pick(CURRENCIES),
      input: this.chance.between(1, 3_000_000),
      output: this.chance.between(1, 9_000_000),
    }));
    this.examiner = new LedgerAudit(this);
    this.wallets = new WalletModel(this);
  }

  orderOf(requestId: string): ClientRequest | undefined {
    return this.orders[Number(requestId.slice("req_".length)) - 1];
  }

  count(what: string): void {
    this.tally[what] = (this.tally[what] ?? 0) + 1;
  }

  note(line: string): void {
    const whole = `${this.scheduler.monotonicMs().toFixed(1)} ${line}`;
    for (let at = 0; at < whole.length; at += 1) this.#hash = Math.imul(this.#hash ^ whole.charCodeAt(at), 0x01000193);
    this.trace?.push(whole);
  }

  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, "0");
  }

  broken(rule: string, what: string): void {
    this.note(`BROKEN ${rule}: ${what}`);
    this.violations.push({ rule, what, atMs: this.scheduler.monotonicMs() });
  }
}

export function attemptAt({ currency, input, output }: Tariff): Attempt {
  const decimal = (millionths: number) => (millionths / 1e6).toFixed(6);
  const price = priceOf({ input: decimal(input), output: decimal(output), currency });
  return { endpoint: ENDPOINT, model: MODEL, price, baseUrl: "http://north.test" };
}

function workspaceOf(slug: string, currency: string): Workspace {
  return {
    id: `ws_${slug}`,
    slug,
    name: slug,
    currency,
    createdAtMs: 0,
    policy: OPEN_POLICY,
    keyPolicy: { personalKeys: true, approval: false, ipAllowlist: null },
  };
}

function keyOf(id: string, workspaceId: string, memberId: string | null): ApiKey {
  return {
    id,
    workspaceId,
    memberId,
    name: id,
    kind: memberId === null ? "workspace" : "personal",
    environment: "live",
    digest: `digest of ${id}`,
    state: "active",
    scopes: null,
    ipAllowlist: null,
    expiresAtMs: null,
    graceUntilMs: null,
    rpm: null,
    policy: null,
    version: 1,
    createdAtMs: 0,
    rotatedFrom: null,
  };
}

function currencyOf(code: string, perEur: string) {
  const rate = parseDecimal(perEur);
  if (rate === undefined) throw new Error(perEur);
  return { code, name: code, symbol: code, decimals: 2, perEur: rate, rateDate: "", rateSource: "" };
}

const SNAPSHOT: CatalogueSnapshot = {
  version: "1",
  builtAtMs: 0,
  creators: new Map(),
  families: new Map(),
  models: new Map([[MODEL.id, MODEL]]),
  providers: new Map(),
  endpoints: new Map([[ENDPOINT.id, ENDPOINT]]),
  modelNames: new Map(),
  endpointsByModel: new Map([[MODEL.id, [ENDPOINT]]]),
  currencies: new Map([
    ["EUR", currencyOf("EUR", "1")],
    ["USD", currencyOf("USD", "1.146322")],
  ]),
  capabilities: new Map(),
};
