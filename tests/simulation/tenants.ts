import type { ApiKey } from "../../src/domain/tenancy/key.ts";
import { LEVELS, OPEN_POLICY, type Policy } from "../../src/domain/tenancy/policy.ts";
import type { Router, RouterSpec } from "../../src/domain/tenancy/router.ts";
import type { Workspace } from "../../src/domain/tenancy/workspace.ts";
import { sha256Hex } from "../../src/kit/secret.ts";
import { OPEN_ROUTER } from "../support/routing.ts";
import { COUNTRIES, CURRENCIES, MODELS, PROVIDERS } from "./catalogue.ts";
import type { Chance } from "./chance.ts";
import { drawDataRules } from "./data-classes.ts";

export const WORKSPACES = ["red", "green", "blue"] as const;
export const ROUTERS = ["auto", "fast", "safe"] as const;

/** What SQL holds of tenants, and in the same form what is in force in the process. */
export type Tenancy = {
  readonly workspaces: Map<string, Workspace>;
  readonly keys: Map<string, ApiKey>;
  /** By workspace and slug. */
  readonly routers: Map<string, Router>;
};

export function copyOf({ workspaces, keys, routers }: Tenancy): Tenancy {
  return { workspaces: new Map(workspaces), keys: new Map(keys), routers: new Map(routers) };
}

export function routerKey(workspaceId: string, slug: string): string {
  return `${workspaceId}/${slug}`;
}

/** The secret of a key, which only its caller has. */
export function secretOf(keyId: string): string {
  return `sk_svc_live_${keyId}`;
}

/** Each rule with a chance of its own: mostly one or two of them, sometimes all. */
export function drawPolicy(chance: Chance, share: number): Policy {
  return {
    floor: chance.is(share) ? (chance.is(0.5) ? chance.pick(["L0", "L1", "L2"]) : chance.pick(LEVELS)) : null,
    countries: chance.is(share) ? chance.atLeastOne(COUNTRIES, 0.7) : null,
    zeroDataRetention: chance.is(share / 2),
    noTraining: chance.is(share / 2),
    blockedProviders: chance.is(share) ? chance.some(PROVIDERS, 0.3) : [],
    allowedModels: chance.is(share / 2) ? chance.atLeastOne(MODELS, 0.7) : null,
    ownNodesExempt: false,
    testKeysSimulated: false,
    parameters: null,
  };
}

export function withDataRules<T extends Partial<Policy>>(policy: T, data: Chance | undefined, share: number): T {
  const dataClasses = data && drawDataRules(data, share);
  return dataClasses === undefined ? policy : { ...policy, dataClasses };
}

/** What a key demands in addition: only the rules it names. */
function drawKeyPolicy(chance: Chance): Partial<Policy> | null {
  if (chance.is(0.5)) return null;
  const policy = drawPolicy(chance, 0.25);
  return {
    ...(policy.floor === null ? {} : { floor: policy.floor }),
    ...(policy.countries === null ? {} : { countries: policy.countries }),
    ...(policy.zeroDataRetention ? { zeroDataRetention: true } : {}),
    ...(policy.noTraining ? { noTraining: true } : {}),
    ...(policy.blockedProviders.length === 0 ? {} : { blockedProviders: policy.blockedProviders }),
    ...(policy.allowedModels === null ? {} : { allowedModels: policy.allowedModels }),
  };
}

export function keyPolicyOf(chance: Chance, data: Chance | undefined): Partial<Policy> | null {
  const policy = drawKeyPolicy(chance);
  const own = withDataRules(policy ?? {}, data, 0.2);
  return policy === null && own.dataClasses === undefined ? null : own;
}

export function drawRouterSpec(chance: Chance): RouterSpec {
  const { floor, countries } = drawPolicy(chance, 0.25);
  return {
    ...OPEN_ROUTER,
    weights: { quality: chance.between(0, 3), cost: chance.between(0, 3), latency: chance.between(0, 3) },
    floor,
    countries,
    qualityFloor: chance.is(0.25) ? chance.between(1, 8) / 10 : null,
    models: chance.is(0.4) ? chance.atLeastOne(MODELS, 0.5) : null,
    fallback: chance.is(0.5) ? chance.some(MODELS, 0.4) : [],
    reasoningEffort: chance.is(0.2) ? "low" : null,
  };
}

export function drawTenancy(chance: Chance, data: Chance | undefined): Tenancy {
  const tenancy: Tenancy = { workspaces: new Map(), keys: new Map(), routers: new Map() };
  for (const slug of WORKSPACES) {
    const id = `ws_${slug}`;
    tenancy.workspaces.set(id, {
      id,
      slug,
      name: slug,
      currency: chance.pick(CURRENCIES),
      createdAtMs: 0,
      policy: withDataRules(chance.is(0.3) ? OPEN_POLICY : drawPolicy(chance, 0.25), data, 0.5),
      keyPolicy: { personalKeys: true, approval: false, ipAllowlist: null },
    });
    for (const name of chance.is(0.5) ? ["a"] : ["a", "b"]) {
      const keyId = `key_${slug}_${name}`;
      tenancy.keys.set(keyId, keyOf(keyId, id, keyPolicyOf(chance, data)));
    }
    for (const router of chance.some(ROUTERS, 0.7)) {
      const spec = drawRouterSpec(chance);
      tenancy.routers.set(routerKey(id, router), { workspaceId: id, slug: router, version: 1, createdAtMs: 0, spec });
    }
  }
  return tenancy;
}

// One digest per key is computed once, not once a seed.
const digests = new Map<string, string>();

function digest(keyId: string): string {
  const known = digests.get(keyId) ?? sha256Hex(secretOf(keyId));
  digests.set(keyId, known);
  return known;
}

function keyOf(id: string, workspaceId: string, policy: Partial<Policy> | null): ApiKey {
  return {
    id,
    workspaceId,
    memberId: null,
    name: id,
    kind: "workspace",
    environment: "live",
    digest: digest(id),
    state: "active",
    scopes: null,
    ipAllowlist: null,
    expiresAtMs: null,
    graceUntilMs: null,
    rpm: null,
    policy,
    version: 1,
    createdAtMs: 0,
    rotatedFrom: null,
  };
}
