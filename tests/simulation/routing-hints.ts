import type { DataClassRules } from "../../src/domain/tenancy/data-class-rules.ts";
import { MODELS, PROVIDERS } from "./catalogue.ts";
import type { Chance } from "./chance.ts";
import { drawDataRules } from "./data-classes.ts";
import { ROUTERS, WORKSPACES } from "./tenants.ts";

type RawPreferences = {
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  readonly order?: readonly string[];
  readonly allow_fallbacks?: boolean;
  readonly data_collection?: "allow" | "deny";
  readonly zdr?: boolean;
  readonly max_price?: { readonly prompt?: number; readonly completion?: number; readonly request?: number };
  readonly sort?: "price" | "throughput" | "latency";
};

/** The gateway's own fields of a request, as written. */
export type RawHints = {
  readonly provider?: RawPreferences;
  readonly session_id?: string;
  readonly cost_tier?: "low" | "medium" | "high";
  readonly remaining_turns?: number;
  readonly data_classes?: DataClassRules;
};

export function drawHints(chance: Chance, data: Chance | undefined): RawHints {
  const rules = data && drawDataRules(data, 0.15);
  return {
    ...(rules === undefined ? {} : { data_classes: rules }),
    ...(chance.is(0.3) ? { provider: drawPreferences(chance) } : {}),
    ...(chance.is(0.4) ? { session_id: `s${chance.between(1, 4)}` } : {}),
    ...(chance.is(0.1) ? { cost_tier: chance.pick(["low", "medium", "high"]) } : {}),
    ...(chance.is(0.2) ? { remaining_turns: chance.between(0, 3) } : {}),
  };
}

function drawPreferences(chance: Chance): RawPreferences {
  const names = () => chance.atLeastOne(PROVIDERS, 0.4).map((name) => (chance.is(0.1) ? `${name}/r1` : name));
  return {
    ...(chance.is(0.2) ? { only: names() } : {}),
    ...(chance.is(0.2) ? { ignore: names() } : {}),
    ...(chance.is(0.25) ? { order: names() } : {}),
    ...(chance.is(0.2) ? { allow_fallbacks: chance.is(0.3) } : {}),
    ...(chance.is(0.2) ? { data_collection: chance.pick(["allow", "deny"]) } : {}),
    ...(chance.is(0.2) ? { zdr: chance.is(0.7) } : {}),
    ...(chance.is(0.15)
      ? { max_price: { prompt: chance.between(1, 8) / 2, completion: chance.between(2, 30) / 2 } }
      : {}),
    ...(chance.is(0.2) ? { sort: chance.pick(["price", "throughput", "latency"]) } : {}),
  };
}

/** Mostly a model; else a router, sometimes one that does not exist or is not theirs. */
export function drawModel(chance: Chance, workspace: string): string {
  if (chance.is(0.5)) return chance.pick(MODELS);
  if (chance.is(0.5)) return "auto";
  if (chance.is(0.85)) return `@${workspace}/${chance.pick(ROUTERS)}`;
  return chance.pick([`@${chance.pick(WORKSPACES)}/${chance.pick(ROUTERS)}`, `@${workspace}/absent`, "absent/none"]);
}
