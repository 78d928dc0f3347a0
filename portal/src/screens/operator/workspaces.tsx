import { useState } from "react";
import { usePages } from "../../api/hooks.ts";
import { percentText } from "../../format/number.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { PageHeader, Toolbar } from "../../ui/layout.tsx";
import { Menu } from "../../ui/menu.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Money, Num, Time } from "../../ui/values.tsx";
import { pathIn, useSearchParams } from "../../url-state.ts";
import { BookingDialog, type BookingKind } from "./booking-dialogs.tsx";
import { CreateWorkspace } from "./create-workspace.tsx";
import type { WorkspaceSummary } from "./rows.ts";

const COLUMNS: readonly Column<WorkspaceSummary>[] = [
  {
    id: "name",
    header: "Workspace",
    sortValue: (row) => row.name,
    className: "md:max-w-64",
    cell: (row) => row.name,
  },
  {
    id: "slug",
    header: "Slug and owners",
    sortValue: (row) => row.slug,
    className: "md:max-w-48",
    cell: (row) => (
      <span className="grid min-w-0">
        <code className="truncate font-mono text-[0.8125rem]" title={row.slug}>
          {row.slug}
        </code>
        <span className="truncate text-xs text-soft" title={row.owners.join(", ")}>
          {row.owners.length === 0 ? "No owner" : row.owners.join(", ")}
        </span>
      </span>
    ),
  },
  {
    id: "balance",
    header: "Balance",
    sortValue: (row) => Number(row.balance),
    align: "end",
    cell: (row) => (
      <Money
        amount={row.balance}
        currency={row.currency}
        as="balance"
        className={Number(row.balance) <= 0 ? "font-medium text-bad" : "font-medium"}
      />
    ),
  },
  {
    id: "spent",
    header: "This month",
    sortValue: (row) => Number(row.spent_this_month),
    align: "end",
    cell: (row) => <Money amount={row.spent_this_month} currency={row.currency} />,
  },
  {
    id: "margin",
    header: "Margin",
    sortValue: (row) => (row.margin === null ? null : Number(row.margin)),
    align: "end",
    phone: "hide",
    cell: (row) =>
      row.margin === null ? (
        <span className="text-faint">Default</span>
      ) : (
        <span>{percentText(Number(row.margin))}</span>
      ),
  },
  {
    id: "members",
    header: "Members",
    sortValue: (row) => row.members,
    align: "end",
    cell: (row) => <Num value={row.members} />,
  },
  { id: "keys", header: "Keys", sortValue: (row) => row.keys, align: "end", cell: (row) => <Num value={row.keys} /> },
  {
    id: "last",
    header: "Last request",
    sortValue: (row) => row.last_request_at,
    cell: (row) => <Time at={row.last_request_at} />,
  },
];

function actions(act: (booking: BookingKind, row: WorkspaceSummary) => void): Column<WorkspaceSummary> {
  return {
    id: "actions",
    header: <span className="sr-only">Actions</span>,
    align: "end",
    cell: (row) => (
      <span className="relative z-1">
        <Menu
          label={`Actions for ${row.name}`}
          items={[
            { label: "Open workspace", icon: "home", to: pathIn(row.slug) },
            { label: "Add funds", icon: "wallet", onSelect: () => act("credit", row) },
            { label: "Grant promotional credit", icon: "spark", onSelect: () => act("promotion", row) },
            { label: "Refund request", icon: "refresh", onSelect: () => act("refund", row) },
            { label: "Adjust balance", icon: "edit", onSelect: () => act("adjustment", row) },
            { label: "Set margin", icon: "gauge", onSelect: () => act("margin", row) },
            { label: "View ledger", icon: "list", to: pathIn(row.slug, "wallet") },
          ]}
        />
      </span>
    ),
  };
}

export function Screen() {
  const search = useSearchParams();
  const [booking, setBooking] = useState<{ readonly kind: BookingKind; readonly workspace: WorkspaceSummary }>();
  const searchText = search.get("q");
  const query = { limit: 50, ...(searchText === "" ? {} : { search: searchText }) };
  const list = usePages("manageSummarizeWorkspaces", { query }, { keepPrevious: true });
  const isNew = search.get("new") === "1";
  return (
    <>
      <PageHeader
        title="Workspaces"
        about="All workspaces with balance and usage. Bookings are recorded in the ledger and the audit log."
        actions={
          <>
            <ApiButton
              calls={[
                {
                  id: "manageSummarizeWorkspaces",
                  args: { query },
                  description: "List workspaces with balance and spend",
                },
                {
                  id: "manageCreditWallet",
                  args: {
                    params: { workspace: "demo" },
                    body: { amount: "25.00", note: "Invoice 17", id: "invoice-17" },
                  },
                  description: "Add funds to a wallet",
                },
              ]}
            />
            <Button variant="primary" icon="plus" onClick={() => search.set({ new: "1" })}>
              Create workspace
            </Button>
          </>
        }
      />
      <Toolbar>
        <Field label="Search" hideLabel className="w-64 max-sm:w-full">
          <Input
            type="search"
            placeholder="Search name, slug or ID"
            value={searchText}
            onChange={(event) => search.set({ q: event.target.value })}
          />
        </Field>
      </Toolbar>
      <Table
        label="Workspaces"
        columns={[...COLUMNS, actions((kind, workspace) => setBooking({ kind, workspace }))]}
        rows={list.rows}
        keyOf={(row) => row.id}
        linkOf={(row) => pathIn(row.slug)}
        query={list}
        empty={
          searchText === "" ? (
            <EmptyState icon="grid" title="No workspaces yet" hint="Create a workspace, then invite its owner.">
              <Button variant="primary" onClick={() => search.set({ new: "1" })}>
                Create workspace
              </Button>
            </EmptyState>
          ) : (
            <EmptyState
              icon="grid"
              title={`No workspaces match “${searchText}”`}
              hint="Try a part of the name or slug."
            >
              <Button onClick={() => search.set({ q: null })}>Clear search</Button>
            </EmptyState>
          )
        }
      />
      <CreateWorkspace open={isNew} onClose={() => search.set({ new: null })} />
      {booking !== undefined && (
        <BookingDialog kind={booking.kind} workspace={booking.workspace} onClose={() => setBooking(undefined)} />
      )}
    </>
  );
}
