import type { Args } from "../../api/client.ts";
import { DAY_MS } from "../../format/time.ts";
import type { Key, Scope } from "./key.ts";

/** A key's settings as they are typed. */
export type KeyDraft = {
  readonly name: string;
  readonly environment: "live" | "test";
  /** E-mail of the owner of a personal key; empty: the workspace's. */
  readonly member: string;
  /** Empty: everything. */
  readonly scopes: readonly Scope[];
  /** One on each line, or with commas; empty: from everywhere. */
  readonly addresses: string;
  /** "never", a number of days, "date", or "same": as it is. */
  readonly expiry: string;
  /** A day in the reader's zone: the key's last one. */
  readonly lastDay: string;
  readonly rpm: string;
  readonly policy: PolicyDraft;
};

export type PolicyDraft = {
  readonly floor: string;
  readonly countries: string;
  readonly zeroDataRetention: boolean;
  readonly noTraining: boolean;
  readonly models: string;
  readonly blocked: string;
};

const OPEN: PolicyDraft = {
  floor: "none",
  countries: "",
  zeroDataRetention: false,
  noTraining: false,
  models: "",
  blocked: "",
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
  policy: OPEN,
};

export function draftOf(key: Key): KeyDraft {
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
    policy:
      policy === null
        ? OPEN
        : {
            floor: policy.floor ?? "none",
            countries: (policy.countries ?? []).join(", "),
            zeroDataRetention: policy.zero_data_retention,
            noTraining: policy.no_training,
            models: (policy.allowed_models ?? []).join("\n"),
            blocked: policy.blocked_providers.join("\n"),
          },
  };
}

type CreateBody = NonNullable<Args<"manageCreateKey">["body"]>;
type ChangeBody = NonNullable<Args<"manageChangeKey">["body"]>;

/** What is sent to make a key: only what was said. Speed and policy are for admins to set. */
export function createBody(draft: KeyDraft, isAdmin: boolean, nowMs: number): CreateBody {
  const { name, environment, member } = draft;
  return {
    ...(name.trim() === "" ? {} : { name: name.trim() }),
    environment,
    ...(member === "" ? {} : { member }),
    ...changed(NEW_KEY, { ...draft, name: "", environment: NEW_KEY.environment, member: "" }, isAdmin, nowMs),
  };
}

/** What is sent to change one: only what is different. */
export function changeBody(key: Key, draft: KeyDraft, isAdmin: boolean, nowMs: number): ChangeBody {
  return changed(draftOf(key), draft, isAdmin, nowMs);
}

function changed(before: KeyDraft, after: KeyDraft, isAdmin: boolean, nowMs: number): ChangeBody {
  const isOther = (field: keyof KeyDraft) => JSON.stringify(before[field]) !== JSON.stringify(after[field]);
  const expires = expiryOf(after, nowMs);
  return {
    ...(isOther("name") ? { name: after.name.trim() } : {}),
    ...(isOther("scopes") ? { scopes: after.scopes.length === 0 ? null : [...after.scopes] } : {}),
    ...(isOther("addresses") ? { ip_allowlist: listed(after.addresses) } : {}),
    ...(isOther("expiry") && expires !== undefined ? { expires_at: expires } : {}),
    ...(isAdmin && isOther("rpm") ? { rpm: after.rpm.trim() === "" ? null : Number(after.rpm) } : {}),
    ...(isAdmin && isOther("policy") ? { policy: policyBody(after.policy) } : {}),
  };
}

const FLOORS = ["none", "L0", "L1", "L2", "L3", "L4"] as const;

function policyBody(policy: PolicyDraft): ChangeBody["policy"] {
  return {
    floor: FLOORS.find((floor) => floor === policy.floor) ?? "none",
    countries: listed(policy.countries)?.map((code) => code.toUpperCase()) ?? null,
    zero_data_retention: policy.zeroDataRetention,
    no_training: policy.noTraining,
    allowed_models: listed(policy.models),
    blocked_providers: listed(policy.blocked),
  };
}

/** Words between commas, spaces and line ends; null: there are none. */
function listed(text: string): string[] | null {
  const words = text.split(/[\s,;]+/).filter((word) => word !== "");
  return words.length === 0 ? null : words;
}

/** Undefined: it stays as it is. A chosen day is the last whole one, in the reader's zone. */
function expiryOf({ expiry, lastDay }: KeyDraft, nowMs: number): string | null | undefined {
  if (expiry === "never") return null;
  if (expiry === "same") return undefined;
  if (expiry !== "date") return new Date(nowMs + Number(expiry) * DAY_MS).toISOString();
  const day = new Date(`${lastDay}T00:00`);
  if (Number.isNaN(day.getTime())) return undefined;
  day.setDate(day.getDate() + 1);
  return day.toISOString();
}
