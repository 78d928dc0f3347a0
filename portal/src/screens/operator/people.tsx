import { useState } from "react";
import { usePages } from "../../api/hooks.ts";
import { useMe } from "../../api/me.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { PageHeader, Toolbar } from "../../ui/layout.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { Menu } from "../../ui/menu.tsx";
import type { MenuItem } from "../../ui/menu-items.ts";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";
import { pathIn, useSearchParams } from "../../url-state.ts";
import { type PersonAction, PersonDialog } from "./person-dialogs.tsx";
import type { Person } from "./rows.ts";

const COLUMNS: readonly Column<Person>[] = [
  {
    id: "name",
    header: "Person",
    sortValue: (row) => row.name,
    phone: "title",
    className: "md:max-w-64",
    cell: (row) => (
      <>
        <span className="flex flex-wrap items-center gap-x-2">
          <span className="truncate font-medium" title={row.name}>
            {row.name}
          </span>
          {row.operator && <Badge tone="accent">Operator</Badge>}
          {row.disabled && !row.erased && <Badge tone="bad">Disabled</Badge>}
        </span>
        <span className="block truncate text-xs text-soft" title={row.email}>
          {row.email}
        </span>
      </>
    ),
  },
  {
    id: "workspaces",
    header: "Workspaces",
    sortValue: (row) => row.workspaces.length,
    className: "md:max-w-72",
    cell: (row) =>
      row.workspaces.length === 0 ? (
        <span className="text-faint">None</span>
      ) : (
        <span className="flex flex-wrap gap-x-3 max-md:justify-end">
          {row.workspaces.slice(0, 5).map(({ slug, role }) => (
            <span key={slug} className="whitespace-nowrap">
              <Link to={pathIn(slug, "members")}>{slug}</Link> <span className="text-xs text-soft">{role}</span>
            </span>
          ))}
          {row.workspaces.length > 5 && <span className="text-xs text-soft">and {row.workspaces.length - 5} more</span>}
        </span>
      ),
  },
  {
    id: "protection",
    header: "Security",
    sortValue: (row) => Number(row.two_factor) + row.passkeys,
    cell: (row) => {
      if (row.erased) return <span className="text-faint">None</span>;
      const parts = [
        ...(row.two_factor ? ["Two-factor"] : []),
        ...(row.passkeys > 0 ? [`${row.passkeys} ${row.passkeys === 1 ? "passkey" : "passkeys"}`] : []),
      ];
      return parts.length === 0 ? <Badge tone="warn">Password only</Badge> : <span>{parts.join(", ")}</span>;
    },
  },
  {
    id: "seen",
    header: "Last active",
    sortValue: (row) => row.last_seen_at,
    cell: (row) => <Time at={row.last_seen_at} />,
  },
  {
    id: "created",
    header: "Joined",
    sortValue: (row) => row.created_at,
    phone: "hide",
    cell: (row) => <Time at={row.created_at} as="day" />,
  },
];

/**
 * Operators can't disable, erase or demote themselves here; their own password and second
 * factor are changed in their account.
 */
function menuItemsFor(row: Person, myId: string | undefined, act: (action: PersonAction) => void): MenuItem[] {
  const isSelf = row.id === myId;
  return [
    {
      label: row.operator ? "Remove operator role" : "Grant operator role",
      icon: "shield",
      disabled: isSelf,
      onSelect: () => act(row.operator ? "demote" : "promote"),
    },
    { label: "Create password reset link", icon: "link", disabled: isSelf, onSelect: () => act("reset") },
    ...(row.two_factor
      ? [
          {
            label: "Turn off two-factor authentication",
            icon: "fingerprint" as const,
            disabled: isSelf,
            onSelect: () => act("second_factor"),
          },
        ]
      : []),
    { label: "Sign out all sessions", icon: "out", onSelect: () => act("sessions") },
    {
      label: row.disabled ? "Enable account" : "Disable account",
      icon: "lock",
      danger: !row.disabled,
      disabled: isSelf,
      onSelect: () => act(row.disabled ? "enable" : "disable"),
    },
    { label: "Erase person", icon: "trash", danger: true, disabled: isSelf, onSelect: () => act("erase") },
  ];
}

export function Screen() {
  const search = useSearchParams();
  const me = useMe().data;
  const [action, setAction] = useState<{ readonly kind: PersonAction; readonly person: Person }>();
  const list = usePages("peopleList", { query: { limit: 100 } });
  const searchText = search.get("q").toLowerCase();
  const rows = list.rows.filter(
    (row) => searchText === "" || `${row.name} ${row.email}`.toLowerCase().includes(searchText),
  );
  const actions: Column<Person> = {
    id: "actions",
    header: <span className="sr-only">Actions</span>,
    align: "end",
    cell: (row) =>
      !row.erased && (
        <Menu
          label={`Actions for ${row.name}`}
          items={menuItemsFor(row, me?.id, (kind) => setAction({ kind, person: row }))}
        />
      ),
  };
  return (
    <>
      <PageHeader
        title="People"
        about="Everyone with an account. People join through workspace invitations; grant the operator role here."
        actions={
          <>
            <ApiButton calls={[{ id: "peopleList", args: { query: { limit: 100 } }, description: "List people" }]} />
            {me?.workspaces[0] !== undefined && (
              <LinkButton variant="primary" icon="plus" to={pathIn(me.workspaces[0].slug, "members?new=1")}>
                Invite member
              </LinkButton>
            )}
          </>
        }
      />
      <Toolbar>
        <Field label="Search" hideLabel className="w-64 max-sm:w-full">
          <Input
            type="search"
            placeholder="Search name or email"
            value={search.get("q")}
            onChange={(event) => search.set({ q: event.target.value })}
          />
        </Field>
      </Toolbar>
      <Table
        label="People"
        columns={[...COLUMNS, actions]}
        rows={rows}
        keyOf={(row) => row.id}
        query={list}
        empty={
          <EmptyState
            icon="people"
            title="No people match"
            hint="Try another search or invite a member to a workspace."
          >
            <Button onClick={() => search.set({ q: null })}>Clear search</Button>
          </EmptyState>
        }
      />
      {action !== undefined && (
        <PersonDialog action={action.kind} person={action.person} onClose={() => setAction(undefined)} />
      )}
    </>
  );
}
