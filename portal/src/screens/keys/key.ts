import type { ApiResponse, Row } from "../../api/client.ts";
import { moneyText } from "../../format/money.ts";
import { counted } from "../../format/number.ts";
import { DAY_MS, shortText } from "../../format/time.ts";
import type { Tone } from "../../ui/badge.tsx";

export type Key = Row<"manageListKeys">;
export type Limits = ApiResponse<"manageShowLimits">;
type KeyState = Key["state"];

export const STATES: Readonly<
  Record<KeyState, { readonly label: string; readonly tone: Tone; readonly description: string }>
> = {
  active: { label: "Active", tone: "good", description: "This key works." },
  pending: { label: "Pending", tone: "warn", description: "An admin or owner needs to approve this key." },
  deprecated: {
    label: "Rotated",
    tone: "info",
    description: "Replaced by a new key. Works until its grace period ends.",
  },
  expired: { label: "Expired", tone: "neutral", description: "This key has expired and no longer works." },
  revoked: { label: "Revoked", tone: "bad", description: "This key was revoked and no longer works." },
};

export const SCOPES = [
  { value: "inference:chat", label: "Chat", hint: "Chat completions and responses" },
  { value: "inference:messages", label: "Messages", hint: "Anthropic Messages API" },
  { value: "inference:embeddings", label: "Embeddings", hint: "Text embeddings" },
  { value: "inference:rerank", label: "Rerank", hint: "Documents ranked by a query" },
  { value: "inference:moderations", label: "Moderations", hint: "Texts and images judged by category" },
  { value: "inference:images", label: "Images", hint: "Images generated, edited and varied" },
  { value: "inference:audio", label: "Audio", hint: "Speech and transcriptions" },
  { value: "inference:models", label: "Models", hint: "Model list" },
  { value: "inference:decisions", label: "Decisions", hint: "Typed decisions" },
  { value: "inference:batches", label: "Batches", hint: "Files and batches" },
] as const;
export type Scope = (typeof SCOPES)[number]["value"];

/** Option labels; keys with the same name get environment, state and creation time. */
export function keyLabels(keys: readonly Key[]): ReadonlyMap<string, string> {
  const byName = Map.groupBy(keys, ({ name }) => name);
  return new Map(keys.map((key) => [key.id, byName.get(key.name)?.length === 1 ? key.name : distinctLabelOf(key)]));
}

function distinctLabelOf({ name, environment, state, created_at }: Key): string {
  const label = state === "active" ? [] : [STATES[state].label];
  return `${name} (${[environment, ...label, shortText(Date.parse(created_at))].join(", ")})`;
}

export function isInactive({ state }: Pick<Key, "state">): boolean {
  return state === "revoked" || state === "expired";
}

const SOON_MS = 14 * DAY_MS;

/** When a key expires or its grace period ends; null: never. */
export function expiryOf({ state, expires_at, grace_until }: Key): string | null {
  if (state !== "deprecated" || grace_until === null) return expires_at;
  return expires_at !== null && expires_at < grace_until ? expires_at : grace_until;
}

export function expiresSoon(key: Key, nowMs: number): boolean {
  const at = expiryOf(key);
  return at !== null && !isInactive(key) && Date.parse(at) - nowMs < SOON_MS;
}

const RECENT_MS = 30 * DAY_MS;

/** Requests of older keys may have left the log, so only a young key is known to be unused. */
export function unusedText({ created_at }: Key, nowMs: number): string {
  return nowMs - Date.parse(created_at) < RECENT_MS ? "Never" : "Not in the log";
}

/** Filters of the key list. */
export const VIEWS = {
  current: { label: "Active", has: (key: Key) => !isInactive(key) },
  ended: { label: "Expired or revoked", has: isInactive },
  all: { label: "All", has: (_: Key) => true },
} as const;
type ViewName = keyof typeof VIEWS;

export function isView(name: string): name is ViewName {
  return name in VIEWS;
}

/** Matches a key if every typed word occurs in one of its fields. */
export function matchesSearch(key: Key, typed: string): boolean {
  const fields = [
    ...[key.name, key.prefix, key.member ?? "workspace", key.environment, STATES[key.state].label, key.id],
    ...(key.policy?.allowed_models ?? []),
  ];
  const text = fields.join(" ").toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((label) => text.includes(label));
}

export function sortValueOf(key: Key, by: string, limits: ReadonlyMap<string, Limits>): string | number | null {
  switch (by) {
    case "name":
      return key.name.toLowerCase();
    case "prefix":
      return key.prefix;
    case "owner":
      return key.member ?? "";
    case "created":
      return Date.parse(key.created_at);
    case "used":
      return key.last_used_at === null ? null : Date.parse(key.last_used_at);
    case "stops": {
      const at = expiryOf(key);
      return at === null ? null : Date.parse(at);
    }
    case "models":
      return key.policy?.allowed_models?.length ?? null;
    case "limits":
      return restrictionsOf(key, limits.get(key.id)).length;
    case "spend":
      return Number(key.spent_month);
    default:
      return null;
  }
}

/** Short texts of a key's restrictions. */
export function restrictionsOf({ rpm, scopes, ip_allowlist, policy }: Key, limits: Limits | undefined): string[] {
  return [
    ...spendTexts(limits),
    ...(rpm === null ? [] : [`${rpm.toLocaleString()} RPM`]),
    ...(scopes === null ? [] : [counted(scopes.length, "scope")]),
    ...(ip_allowlist === null ? [] : [counted(ip_allowlist.length, "address", "addresses")]),
    ...(policy === null ? [] : ["key policy"]),
  ];
}

/** `€5.00 per day`. */
export function spendTexts(limits: Limits | undefined): string[] {
  if (limits === undefined) return [];
  const { day, month, currency } = limits;
  return [
    ...(day.limit === null ? [] : [`${moneyText(day.limit, currency, "exact")} per day`]),
    ...(month.limit === null ? [] : [`${moneyText(month.limit, currency, "exact")} per month`]),
  ];
}
