import type { Args } from "../../api/client.ts";
import { DAY_MS } from "../../format/time.ts";
import { changedLimits } from "../limits/changed-limits.ts";
import type { Key, Limits, Scope } from "./key.ts";

/** The form state of a key. */
export type KeyDraft = {
  readonly name: string;
  readonly environment: "live" | "test";
  /** Email of a personal key's owner; empty: workspace key. */
  readonly member: string;
  /** Empty: all scopes. */
  readonly scopes: readonly Scope[];
  /** Separated by lines or commas; empty: any address. */
  readonly addresses: string;
  /** "never", a number of days, "date", or "same" for unchanged. */
  readonly expiry: string;
  /** The key's last full day, in the reader's time zone. */
  readonly lastDay: string;
  readonly rpm: string;
  readonly spendLimits: SpendLimitsDraft;
  readonly policy: PolicyDraft;
};

/** Empty: no limit. */
export type SpendLimitsDraft = { readonly day: string; readonly month: string };

export type PolicyDraft = {
  readonly floor: string;
  /** Empty: all. */
  readonly countries: readonly string[];
  readonly zeroDataRetention: boolean;
  readonly noTraining: boolean;
  /** Empty: all. */
  readonly models: readonly string[];
  readonly blocked: readonly string[];
  /** "workspace": same as the workspace. */
  readonly parameters: string;
};

const EMPTY_POLICY: PolicyDraft = {
  floor: "none",
  countries: [],
  zeroDataRetention: false,
  noTraining: false,
  models: [],
  blocked: [],
  parameters: "workspace",
};

export const NEW_KEY: KeyDraft = {
  name: "",
  environment: "live",
  member: "",
  scopes: [],
  addresses: "",
  expiry: "never",
  lastDay: "",
  rpm: "",
  spendLimits: { day: "", month: "" },
  policy: EMPTY_POLICY,
};

export function draftOf(key: Key, limits?: Limits): KeyDraft {
  const { policy } = key;
  return {
    name: key.name,
    environment: key.environment,
    member: key.member ?? "",
    scopes: key.scopes ?? [],
    addresses: (key.ip_allowlist ?? []).join("\n"),
    expiry: key.expires_at === null ? "never" : "same",
    lastDay: "",
    rpm: key.rpm === null ? "" : String(key.rpm),
    spendLimits: { day: limits?.day.limit ?? "", month: limits?.month.limit ?? "" },
    policy:
      policy === null
        ? EMPTY_POLICY
        : {
            floor: policy.floor ?? "none",
            countries: policy.countries ?? [],
            zeroDataRetention: policy.zero_data_retention,
            noTraining: policy.no_training,
            models: policy.allowed_models ?? [],
            blocked: policy.blocked_providers,
            parameters: policy.parameters ?? "workspace",
          },
  };
}

type CreateBody = NonNullable<Args<"manageCreateKey">["body"]>;
type ChangeBody = NonNullable<Args<"manageChangeKey">["body"]>;

/** Only changed settings are sent. Limits and policy are for admins. */
export function createBody(draft: KeyDraft, isAdmin: boolean, nowMs: number): CreateBody {
  const { name, environment, member } = draft;
  return {
    ...(name.trim() === "" ? {} : { name: name.trim() }),
    environment,
    ...(member === "" ? {} : { member }),
    ...changedSettings(NEW_KEY, { ...draft, name: "", environment: NEW_KEY.environment, member: "" }, isAdmin, nowMs),
  };
}

/** Only changed settings are sent. */
export function changeBody(before: KeyDraft, after: KeyDraft, isAdmin: boolean, nowMs: number): ChangeBody {
  return changedSettings(before, after, isAdmin, nowMs);
}

function changedSettings(before: KeyDraft, after: KeyDraft, isAdmin: boolean, nowMs: number): ChangeBody {
  const isChanged = (field: keyof KeyDraft) => JSON.stringify(before[field]) !== JSON.stringify(after[field]);
  const expires = expiryOf(after, nowMs);
  return {
    ...(isChanged("name") ? { name: after.name.trim() } : {}),
    ...(isChanged("scopes") ? { scopes: after.scopes.length === 0 ? null : [...after.scopes] } : {}),
    ...(isChanged("addresses") ? { ip_allowlist: splitList(after.addresses) } : {}),
    ...(isChanged("expiry") && expires !== undefined ? { expires_at: expires } : {}),
    ...(isAdmin && isChanged("rpm") ? { rpm: after.rpm.trim() === "" ? null : Number(after.rpm) } : {}),
    ...(isAdmin && isChanged("spendLimits")
      ? { spend_limits: changedLimits(before.spendLimits, after.spendLimits) }
      : {}),
    ...(isAdmin && isChanged("policy") ? { policy: policyBody(after.policy) } : {}),
  };
}

const FLOORS = ["none", "L0", "L1", "L2", "L3", "L4"] as const;

const PARAMETERS = ["strict", "lenient"] as const;

function policyBody(policy: PolicyDraft): ChangeBody["policy"] {
  return {
    floor: FLOORS.find((floor) => floor === policy.floor) ?? "none",
    countries: listOrNull(policy.countries),
    zero_data_retention: policy.zeroDataRetention,
    no_training: policy.noTraining,
    allowed_models: listOrNull(policy.models),
    blocked_providers: listOrNull(policy.blocked),
    parameters: PARAMETERS.find((handling) => handling === policy.parameters) ?? null,
  };
}

function listOrNull(values: readonly string[]): string[] | null {
  return values.length === 0 ? null : [...values];
}

/** Splits at commas, spaces and line breaks; null: empty. */
function splitList(text: string): string[] | null {
  const words = text.split(/[\s,;]+/).filter((word) => word !== "");
  return words.length === 0 ? null : words;
}

/** Undefined: unchanged. A date is the key's last full day, in the reader's time zone. */
function expiryOf({ expiry, lastDay }: KeyDraft, nowMs: number): string | null | undefined {
  if (expiry === "never") return null;
  if (expiry === "same") return undefined;
  if (expiry !== "date") return new Date(nowMs + Number(expiry) * DAY_MS).toISOString();
  const day = new Date(`${lastDay}T00:00`);
  if (Number.isNaN(day.getTime())) return undefined;
  day.setDate(day.getDate() + 1);
  return day.toISOString();
}
