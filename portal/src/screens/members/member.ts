import type { Row } from "../../api/client.ts";
import type { Role } from "../../api/me.ts";
import type { Permissions } from "../../api/permissions.ts";
import { amountOf, nanosOf } from "../../format/nanos.ts";
import type { Key } from "../keys/key.ts";

export type Member = Row<"manageListMembers">;

export const ROLES: readonly { readonly value: Role; readonly label: string; readonly may: string }[] = [
  { value: "member", label: "Member", may: "Uses the workspace and sees their own keys, requests and spend." },
  { value: "admin", label: "Admin", may: "Also manages keys, policy, limits and members, and sees all requests." },
  { value: "owner", label: "Owner", may: "Also manages owners and creates management tokens." },
];

export function roleOf(text: string): Role {
  return ROLES.find(({ value }) => value === text)?.value ?? "member";
}

/** Only owners can grant or remove the owner role. */
export function rolesFor(permissions: Permissions) {
  return ROLES.filter(({ value }) => value !== "owner" || permissions.isOwner);
}

export function mayChange(permissions: Permissions, member: Member): boolean {
  return permissions.isAdmin && (member.role !== "owner" || permissions.isOwner);
}

/** A member with their active keys and this month's spend. */
export type MemberRow = Member & { readonly keys: number; readonly spent: string | null };

type Usage = Pick<Row<"manageShowUsage">, "name" | "cost">;

export function toMemberRows(
  members: readonly Member[],
  keys: readonly Key[],
  usage: readonly Usage[] | undefined,
): MemberRow[] {
  return members.map((member) => {
    const own = keys.filter((key) => key.member === member.email && key.state !== "revoked" && key.state !== "expired");
    return { ...member, keys: own.length, spent: usage === undefined ? null : spentBy(member.id, usage) };
  });
}

export function spentBy(id: string, usage: readonly Usage[]): string {
  return amountOf(usage.reduce((sum, { name, cost }) => (name === id ? sum + nanosOf(cost) : sum), 0n));
}

export function sortValueOf(member: MemberRow, by: string): string | number | null {
  switch (by) {
    case "person":
      return (member.name ?? member.email).toLowerCase();
    case "role":
      return ROLES.findIndex(({ value }) => value === member.role);
    case "protection":
      return member.two_factor === null ? null : Number(member.two_factor) + (member.passkeys ?? 0);
    case "seen":
      return member.last_seen_at === null ? null : Date.parse(member.last_seen_at);
    case "keys":
      return member.keys;
    case "spend":
      return member.spent === null ? null : Number(member.spent);
    case "since":
      return Date.parse(member.created_at);
    default:
      return null;
  }
}
