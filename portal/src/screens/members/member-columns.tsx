import type { Permissions } from "../../api/permissions.ts";
import { Badge } from "../../ui/badge.tsx";
import { Link } from "../../ui/link.tsx";
import { Menu } from "../../ui/menu.tsx";
import type { MenuItem } from "../../ui/menu-items.ts";
import type { Column } from "../../ui/table.tsx";
import { Money, Num, Time, Unknown } from "../../ui/values.tsx";
import { type MemberRow, mayChange, ROLES, sortValueOf } from "./member.ts";
import type { MemberAction } from "./member-dialogs.tsx";

type MemberColumnOptions = {
  readonly currency: string;
  readonly permissions: Permissions;
  readonly at: (path?: string) => string;
  readonly act: (action: MemberAction) => void;
};

/** Sign-in security and spend are only shown to admins. */
export function memberColumns({ currency, permissions, at, act }: MemberColumnOptions): Column<MemberRow>[] {
  const always: Column<MemberRow>[] = [
    {
      id: "person",
      header: "Member",
      sortValue: (member) => sortValueOf(member, "person"),
      phone: "title",
      className: "md:min-w-44",
      cell: (member) => <MemberName member={member} isSelf={member.email === permissions.email} />,
    },
    {
      id: "role",
      header: "Role",
      sortValue: (member) => sortValueOf(member, "role"),
      cell: ({ role }) => (
        <Badge tone={role === "owner" ? "accent" : role === "admin" ? "info" : "neutral"}>
          {ROLES.find(({ value }) => value === role)?.label}
        </Badge>
      ),
    },
  ];
  const since: Column<MemberRow> = {
    id: "since",
    header: "Joined",
    sortValue: (member) => sortValueOf(member, "since"),
    cell: ({ created_at }) => <Time at={created_at} as="day" />,
  };
  if (!permissions.isAdmin) return [...always, since];
  return [
    ...always,
    {
      id: "protection",
      header: "Security",
      sortValue: (member) => sortValueOf(member, "protection"),
      cell: (member) => <SignInSecurity member={member} />,
    },
    {
      id: "seen",
      header: "Last active",
      sortValue: (member) => sortValueOf(member, "seen"),
      cell: ({ last_seen_at }) => <Time at={last_seen_at} none="–" />,
    },
    {
      id: "keys",
      header: "Personal keys",
      sortValue: (member) => sortValueOf(member, "keys"),
      align: "end",
      cell: ({ keys, email }) =>
        keys === 0 ? (
          <span className="text-faint">0</span>
        ) : (
          <Link to={at(`keys?q=${encodeURIComponent(email)}`)}>
            <Num value={keys} />
          </Link>
        ),
    },
    {
      id: "spend",
      header: "This month",
      sortValue: (member) => sortValueOf(member, "spend"),
      align: "end",
      cell: ({ spent }) => (spent === null ? <Unknown /> : <Money amount={spent} currency={currency} />),
    },
    since,
    {
      id: "actions",
      header: <span className="sr-only">Actions</span>,
      align: "end",
      cell: (member) => <Actions {...{ member, permissions, act }} />,
    },
  ];
}

function MemberName({ member, isSelf }: { readonly member: MemberRow; readonly isSelf: boolean }) {
  return (
    <span className="grid min-w-0">
      <span className="flex flex-wrap items-center gap-x-2">
        <span className="font-medium break-words">{member.name ?? member.email}</span>
        {isSelf && <span className="text-xs text-soft">You</span>}
        {!member.joined && <Badge tone="warn">Not joined</Badge>}
      </span>
      {member.name !== null && <span className="text-xs break-all text-soft">{member.email}</span>}
    </span>
  );
}

function SignInSecurity({ member: { two_factor, passkeys } }: { readonly member: MemberRow }) {
  if (two_factor === null || passkeys === null) return <Unknown />;
  if (!two_factor && passkeys === 0) return <Badge tone="warn">Password only</Badge>;
  return (
    <span className="flex flex-wrap gap-1">
      {two_factor && <Badge tone="good">Two-factor</Badge>}
      {passkeys > 0 && <Badge tone="good">{passkeys === 1 ? "Passkey" : `${passkeys} passkeys`}</Badge>}
    </span>
  );
}

function Actions({
  member,
  permissions,
  act,
}: Pick<MemberColumnOptions, "permissions" | "act"> & { readonly member: MemberRow }) {
  if (!mayChange(permissions, member)) return null;
  const items: MenuItem[] = [
    { label: "Change role", icon: "edit", onSelect: () => act({ kind: "role", subject: member }) },
    // One's own password is changed in the account.
    ...(member.joined && member.email !== permissions.email
      ? [
          {
            label: "Create password reset link",
            icon: "lock",
            onSelect: () => act({ kind: "reset", subject: member }),
          } as const,
        ]
      : []),
    { label: "Remove member", icon: "trash", danger: true, onSelect: () => act({ kind: "remove", subject: member }) },
  ];
  return <Menu label={`Actions for ${member.email}`} items={items} />;
}
