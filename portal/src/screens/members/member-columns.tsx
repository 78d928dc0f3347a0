import type { Permissions } from "../../api/powers.ts";
import { Badge } from "../../ui/badge.tsx";
import { Link } from "../../ui/link.tsx";
import { Menu, type MenuItem } from "../../ui/menu.tsx";
import type { Column } from "../../ui/table.tsx";
import { Money, Num, Time, Unknown } from "../../ui/values.tsx";
import { type Line, mayChange } from "./member.ts";
import type { Doing } from "./member-dialogs.tsx";

type Given = {
  readonly currency: string;
  readonly permissions: Permissions;
  readonly at: (path?: string) => string;
  readonly act: (doing: Doing) => void;
};

/** A plain member sees who is there; how accounts are protected and what they spend is for admins. */
export function memberColumns({ currency, permissions, at, act }: Given): Column<Line>[] {
  const always: Column<Line>[] = [
    {
      id: "person",
      header: "Person",
      sortable: true,
      phone: "title",
      className: "md:min-w-44",
      cell: (line) => <Person line={line} isSelf={line.email === permissions.email} />,
    },
    {
      id: "role",
      header: "Role",
      sortable: true,
      cell: ({ role }) => (
        <Badge tone={role === "owner" ? "accent" : role === "admin" ? "info" : "neutral"}>{role}</Badge>
      ),
    },
  ];
  const since: Column<Line> = {
    id: "since",
    header: "Member since",
    sortable: true,
    cell: ({ created_at }) => <Time at={created_at} as="day" />,
  };
  if (!permissions.isAdmin) return [...always, since];
  return [
    ...always,
    { id: "protection", header: "Sign-in", sortable: true, cell: (line) => <Protection line={line} /> },
    {
      id: "seen",
      header: "Last seen",
      sortable: true,
      cell: ({ last_seen_at }) => <Time at={last_seen_at} none="–" />,
    },
    {
      id: "keys",
      header: "Own keys",
      sortable: true,
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
      sortable: true,
      align: "end",
      cell: ({ spent }) => (spent === null ? <Unknown /> : <Money amount={spent} currency={currency} />),
    },
    since,
    {
      id: "actions",
      header: <span className="sr-only">Actions</span>,
      align: "end",
      cell: (line) => <Actions {...{ line, permissions, act }} />,
    },
  ];
}

function Person({ line, isSelf }: { readonly line: Line; readonly isSelf: boolean }) {
  return (
    <span className="grid min-w-0">
      <span className="flex flex-wrap items-center gap-x-2">
        <span className="font-medium break-words">{line.name ?? line.email}</span>
        {isSelf && <span className="text-xs text-soft">you</span>}
        {!line.joined && <Badge tone="warn">has not joined</Badge>}
      </span>
      {line.name !== null && <span className="text-xs break-all text-soft">{line.email}</span>}
    </span>
  );
}

function Protection({ line: { two_factor, passkeys } }: { readonly line: Line }) {
  if (two_factor === null || passkeys === null) return <Unknown />;
  if (!two_factor && passkeys === 0) return <Badge tone="warn">password only</Badge>;
  return (
    <span className="flex flex-wrap gap-1">
      {two_factor && <Badge tone="good">two-factor</Badge>}
      {passkeys > 0 && <Badge tone="good">{passkeys === 1 ? "passkey" : `${passkeys} passkeys`}</Badge>}
    </span>
  );
}

function Actions({ line, permissions, act }: Pick<Given, "permissions" | "act"> & { readonly line: Line }) {
  if (!mayChange(permissions, line)) return null;
  const items: MenuItem[] = [
    { label: "Change the role", icon: "edit", onSelect: () => act({ is: "role", subject: line }) },
    // One's own is changed in the account.
    ...(line.joined && line.email !== permissions.email
      ? [
          {
            label: "Link for a new password",
            icon: "lock",
            onSelect: () => act({ is: "reset", subject: line }),
          } as const,
        ]
      : []),
    { label: "Remove", icon: "trash", danger: true, onSelect: () => act({ is: "remove", subject: line }) },
  ];
  return <Menu label={`Actions for ${line.email}`} items={items} />;
}
