import type { ApiResponse, Row } from "../../api/client.ts";
import { moneyText } from "../../format/money.ts";
import { counted } from "../../format/number.ts";
import { DAY_MS, shortText } from "../../format/time.ts";
import type { Tone } from "../../ui/badge.tsx";

export type Key = Row<"manageListKeys">;
export type Limits = ApiResponse<"manageShowLimits">;
type KeyState = Key["state"];

/** What each state is called and looks like. */
export const STATES: Readonly<Record<KeyState, { readonly word: string; readonly tone: Tone; readonly says: string }>> =
  {
    active: { word: "active", tone: "good", says: "It works." },
    pending: { word: "waits", tone: "warn", says: "It waits until an admin or an owner approves it." },
    deprecated: { word: "rotated", tone: "info", says: "A new key took its place; it works until its grace ends." },
    expired: { word: "expired", tone: "neutral", says: "Its time is over. It does not work any more." },
    revoked: { word: "revoked", tone: "bad", says: "It was ended by hand. It does not work any more." },
  };

export const SCOPES = [
  { value: "inference:chat", label: "Chat", hint: "Chat completions and responses" },
  { value: "inference:messages", label: "Messages", hint: "The Anthropic messages API" },
  { value: "inference:embeddings", label: "Embeddings", hint: "Vectors of texts" },
  { value: "inference:audio", label: "Audio", hint: "Speech and transcriptions" },
  { value: "inference:models", label: "Models", hint: "The list of models" },
  { value: "inference:decisions", label: "Decisions", hint: "Typed questions and answers" },
] as const;
export type Scope = (typeof SCOPES)[number]["value"];

/** What a key is called in a list to choose from: where a name repeats, with what tells it apart. */
export function keyLabels(keys: readonly Key[]): ReadonlyMap<string, string> {
  const named = Map.groupBy(keys, ({ name }) => name);
  return new Map(keys.map((key) => [key.id, named.get(key.name)?.length === 1 ? key.name : apartOf(key)]));
}

function apartOf({ name, environment, state, created_at }: Key): string {
  const word = state === "active" ? [] : [STATES[state].word];
  return `${name} (${[environment, ...word, shortText(Date.parse(created_at))].join(", ")})`;
}

export function isEnded({ state }: Pick<Key, "state">): boolean {
  return state === "revoked" || state === "expired";
}

const SOON_MS = 14 * DAY_MS;

/** When a key stops by itself; null: never. */
export function stopsAt({ state, expires_at, grace_until }: Key): string | null {
  if (state !== "deprecated" || grace_until === null) return expires_at;
  return expires_at !== null && expires_at < grace_until ? expires_at : grace_until;
}

export function stopsSoon(key: Key, nowMs: number): boolean {
  const at = stopsAt(key);
  return at !== null && !isEnded(key) && Date.parse(at) - nowMs < SOON_MS;
}

const YOUNG_MS = 30 * DAY_MS;

/** A key that the log has no request of: a young one was not used yet, of an older one the log may not know any more. */
export function unusedText({ created_at }: Key, nowMs: number): string {
  return nowMs - Date.parse(created_at) < YOUNG_MS ? "not yet" : "not in the log";
}

/** Which keys a list shows. */
export const VIEWS = {
  current: { label: "In use", has: (key: Key) => !isEnded(key) },
  ended: { label: "Ended", has: isEnded },
  all: { label: "All", has: (_: Key) => true },
} as const;
type ViewName = keyof typeof VIEWS;

export function isView(name: string): name is ViewName {
  return name in VIEWS;
}

/** Whether a key is meant by the words somebody typed: each of them stands in one of its fields. */
export function isMeant(key: Key, typed: string): boolean {
  const fields = [key.name, key.prefix, key.member ?? "workspace", key.environment, STATES[key.state].word, key.id];
  const text = fields.join(" ").toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** What a column sorts by. */
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
      const at = stopsAt(key);
      return at === null ? null : Date.parse(at);
    }
    case "limits":
      return restrictionsOf(key, limits.get(key.id)).length;
    case "spend":
      return Number(key.spent_month);
    default:
      return null;
  }
}

/** What a key is held to, in a few words each. */
export function restrictionsOf({ rpm, scopes, ip_allowlist, policy }: Key, limits: Limits | undefined): string[] {
  return [
    ...spendTexts(limits),
    ...(rpm === null ? [] : [`${rpm.toLocaleString()} rpm`]),
    ...(scopes === null ? [] : [counted(scopes.length, "scope")]),
    ...(ip_allowlist === null ? [] : [counted(ip_allowlist.length, "address", "addresses")]),
    ...(policy === null ? [] : ["own policy"]),
  ];
}

/** What a key may spend: `€5.00 a day`. */
export function spendTexts(limits: Limits | undefined): string[] {
  if (limits === undefined) return [];
  const { day, month, currency } = limits;
  return [
    ...(day.limit === null ? [] : [`${moneyText(day.limit, currency)} a day`]),
    ...(month.limit === null ? [] : [`${moneyText(month.limit, currency)} a month`]),
  ];
}
