import { useState } from "react";
import { pathIn, useSearchParams } from "../../address.ts";
import { usePages } from "../../api/hooks.ts";
import { useMe } from "../../api/me.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { PageHeader, Toolbar } from "../../ui/layout.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { Menu, type MenuItem } from "../../ui/menu.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";
import { type PersonDeed, PersonDialog } from "./person-dialogs.tsx";
import type { Person } from "./rows.ts";

const COLUMNS: readonly Column<Person>[] = [
  {
    id: "name",
    header: "Person",
    phone: "title",
    className: "md:max-w-64",
    cell: (row) => (
      <>
        <span className="flex flex-wrap items-center gap-x-2">
          <span className="truncate font-medium" title={row.name}>
            {row.name}
          </span>
          {row.operator && <Badge tone="accent">operator</Badge>}
          {row.disabled && !row.erased && <Badge tone="bad">disabled</Badge>}
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
    className: "md:max-w-72",
    cell: (row) =>
      row.workspaces.length === 0 ? (
        <span className="text-faint">none</span>
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
    header: "Protection",
    cell: (row) => {
      if (row.erased) return <span className="text-faint">none</span>;
      const parts = [
        ...(row.two_factor ? ["second factor"] : []),
        ...(row.passkeys > 0 ? [`${row.passkeys} ${row.passkeys === 1 ? "passkey" : "passkeys"}`] : []),
      ];
      return parts.length === 0 ? <Badge tone="warn">password only</Badge> : <span>{parts.join(", ")}</span>;
    },
  },
  { id: "seen", header: "Last seen", cell: (row) => <Time at={row.last_seen_at} /> },
  { id: "created", header: "Joined", phone: "hide", cell: (row) => <Time at={row.created_at} as="day" /> },
];

/**
 * What can be done with somebody. Nobody disables, erases or demotes themselves by mistake; their own password and second
 * factor they change in the account.
 */
function itemsFor(row: Person, myId: string | undefined, act: (deed: PersonDeed) => void): MenuItem[] {
  const isMe = row.id === myId;
  return [
    {
      label: row.operator ? "Take operator away" : "Make operator",
      icon: "shield",
      disabled: isMe,
      onSelect: () => act(row.operator ? "demote" : "promote"),
    },
    { label: "Make a reset link", icon: "link", disabled: isMe, onSelect: () => act("reset") },
    ...(row.two_factor
      ? [
          {
            label: "Take the second factor off",
            icon: "fingerprint" as const,
            disabled: isMe,
            onSelect: () => act("second_factor"),
          },
        ]
      : []),
    { label: "End all sessions", icon: "out", onSelect: () => act("sessions") },
    {
      label: row.disabled ? "Enable the account" : "Disable the account",
      icon: "lock",
      danger: !row.disabled,
      disabled: isMe,
      onSelect: () => act(row.disabled ? "enable" : "disable"),
    },
    { label: "Erase", icon: "trash", danger: true, disabled: isMe, onSelect: () => act("erase") },
  ];
}

/** Everybody with an account. */
export function Screen() {
  const search = useSearchParams();
  const me = useMe().data;
  const [deed, setDeed] = useState<{ readonly is: PersonDeed; readonly of: Person }>();
  const list = usePages("peopleList", { query: { limit: 100 } });
  const words = search.get("q").toLowerCase();
  const rows = list.rows.filter((row) => words === "" || `${row.name} ${row.email}`.toLowerCase().includes(words));
  const actions: Column<Person> = {
    id: "actions",
    header: <span className="sr-only">Actions</span>,
    align: "end",
    cell: (row) =>
      !row.erased && (
        <Menu label={`Actions for ${row.name}`} items={itemsFor(row, me?.id, (is) => setDeed({ is, of: row }))} />
      ),
  };
  return (
    <>
      <PageHeader
        title="People"
        about="Everybody who can sign in. People come by invitation of a workspace; who runs the gateway is decided here."
        actions={
          <>
            <CallButton calls={[{ id: "peopleList", args: { query: { limit: 100 } }, says: "List people" }]} />
            {me?.workspaces[0] !== undefined && (
              <LinkButton look="primary" icon="plus" to={pathIn(me.workspaces[0].slug, "members?new=1")}>
                Invite somebody
              </LinkButton>
            )}
          </>
        }
      />
      <Toolbar>
        <Field label="Search" hideLabel className="w-64 max-sm:w-full">
          <Input
            type="search"
            placeholder="Search name or address"
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
            title="Nobody fits"
            hint="Search for another name, or invite somebody to a workspace."
          >
            <Button onClick={() => search.set({ q: null })}>Show all</Button>
          </EmptyState>
        }
      />
      {deed !== undefined && <PersonDialog deed={deed.is} person={deed.of} onClose={() => setDeed(undefined)} />}
    </>
  );
}
