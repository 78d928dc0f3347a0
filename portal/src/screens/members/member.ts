import type { Row } from "../../api/client.ts";
import type { Role } from "../../api/me.ts";
import type { Permissions } from "../../api/powers.ts";
import { amountOf, nanosOf } from "../../format/nanos.ts";
import type { Key } from "../keys/key.ts";

export type Member = Row<"manageListMembers">;

export const ROLES: readonly { readonly value: Role; readonly label: string; readonly may: string }[] = [
  { value: "member", label: "Member", may: "Uses the workspace: sees their own keys, requests and spend." },
  { value: "admin", label: "Admin", may: "Also manages keys, policy, limits and members, and sees all requests." },
  { value: "owner", label: "Owner", may: "Also decides who is an owner, and makes management tokens." },
];

export function roleOf(text: string): Role {
  return ROLES.find(({ value }) => value === text)?.value ?? "member";
}

/** Nobody gives or takes a role above their own. */
export function rolesFor(permissions: Permissions) {
  return ROLES.filter(({ value }) => value !== "owner" || permissions.isOwner);
}

export function mayChange(permissions: Permissions, member: Member): boolean {
  return permissions.isAdmin && (member.role !== "owner" || permissions.isOwner);
}

/** A member with what they use. */
export type Line = Member & { readonly keys: number; readonly spent: string | null };

type Usage = Pick<Row<"manageShowUsage">, "name" | "cost">;

export function linesOf(members: readonly Member[], keys: readonly Key[], usage: readonly Usage[] | undefined): Line[] {
  return members.map((member) => {
    const own = keys.filter((key) => key.member === member.email && key.state !== "revoked" && key.state !== "expired");
    return { ...member, keys: own.length, spent: usage === undefined ? null : spentBy(member.id, usage) };
  });
}

export function spentBy(id: string, usage: readonly Usage[]): string {
  return amountOf(usage.reduce((sum, { name, cost }) => (name === id ? sum + nanosOf(cost) : sum), 0n));
}

export function sortValueOf(line: Line, by: string): string | number | null {
  switch (by) {
    case "person":
      return (line.name ?? line.email).toLowerCase();
    case "role":
      return ROLES.findIndex(({ value }) => value === line.role);
    case "protection":
      return line.two_factor === null ? null : Number(line.two_factor) + (line.passkeys ?? 0);
    case "seen":
      return line.last_seen_at === null ? null : Date.parse(line.last_seen_at);
    case "keys":
      return line.keys;
    case "spend":
      return line.spent === null ? null : Number(line.spent);
    case "since":
      return Date.parse(line.created_at);
    default:
      return null;
  }
}
