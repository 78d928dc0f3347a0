import type { Args, Row } from "../../api/client.ts";
import type { IconName } from "../../ui/icon.tsx";

export type Entry = Row<"manageListAudit">;
type AuditQuery = NonNullable<Args<"manageListAudit">["query"]>;

/** The first part of an action: the type of its target. */
export const KINDS: readonly { readonly id: string; readonly label: string; readonly icon: IconName }[] = [
  { id: "alerts", label: "Alerts", icon: "bell" },
  { id: "capture", label: "Capture windows", icon: "record" },
  { id: "invitation", label: "Invitations", icon: "people" },
  { id: "key", label: "Keys", icon: "key" },
  { id: "key_policy", label: "Key policy", icon: "key" },
  { id: "limits", label: "Limits", icon: "gauge" },
  { id: "margin", label: "Margin", icon: "wallet" },
  { id: "member", label: "Members", icon: "people" },
  { id: "person", label: "People and sign-in", icon: "person" },
  { id: "policy", label: "Policy", icon: "shield" },
  { id: "provider", label: "Provider keys", icon: "vault" },
  { id: "response", label: "Stored responses", icon: "list" },
  { id: "router", label: "Routers", icon: "route" },
  { id: "token", label: "Management tokens", icon: "token" },
  { id: "wallet", label: "Wallet", icon: "wallet" },
  { id: "workspace", label: "Workspace", icon: "settings" },
];

export function iconOf(action: string): IconName {
  const kind = action.split(".")[0];
  return KINDS.find(({ id }) => id === kind)?.icon ?? "edit";
}

/** Filters as query parameters. */
export type Filters = Readonly<Record<"action" | "actor" | "target" | "from" | "to", string>>;

/** Days are in the reader's time zone; the last day is included. */
export function queryOf(workspace: string, { action, actor, target, from, to }: Filters): AuditQuery {
  const since = dayStart(from, 0);
  const until = dayStart(to, 1);
  return {
    workspace,
    ...(action === "" ? {} : { action }),
    ...(actor.trim() === "" ? {} : { actor: actor.trim() }),
    ...(target.trim() === "" ? {} : { target: target.trim() }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  };
}

function dayStart(day: string, addDays: number): string | undefined {
  const start = new Date(`${day}T00:00`);
  if (day === "" || Number.isNaN(start.getTime())) return undefined;
  start.setDate(start.getDate() + addDays);
  return start.toISOString();
}

const NAMES = ["name", "email", "slug", "provider", "router"] as const;

/** A readable name of the target. `names` maps key IDs to key names. */
export function targetNameOf({ target, detail }: Entry, names: ReadonlyMap<string, string>): string | null {
  for (const name of NAMES) {
    const value = detail[name];
    if (typeof value === "string" && value !== "") return value;
  }
  if (target === null) return null;
  return names.get(target) ?? (target.startsWith("ws_") ? "Workspace" : target);
}

/** The screen that shows the target, if there is one. */
export function screenPathOf({ action, target }: Entry): string | undefined {
  if (target?.startsWith("key_")) return `keys?view=all&key=${encodeURIComponent(target)}`;
  const kind = action.split(".")[0] ?? "";
  const screens: Readonly<Record<string, string>> = {
    member: "members",
    invitation: "members",
    policy: "policy",
    router: "routers",
    token: "tokens",
    wallet: "wallet",
    limits: "limits",
    alerts: "alerts",
    capture: "capture",
    provider: "provider-keys",
    workspace: "settings",
    key_policy: "settings",
  };
  return screens[kind];
}

export function valueText(value: unknown): string {
  if (value === null || value === undefined) return "Not set";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.length === 0 ? "None" : value.map(valueText).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
