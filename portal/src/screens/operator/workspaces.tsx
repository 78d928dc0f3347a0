import { useState } from "react";
import { pathIn, useSearchParams } from "../../address.ts";
import { usePages } from "../../api/hooks.ts";
import { percentText } from "../../format/number.ts";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { PageHeader, Toolbar } from "../../ui/layout.tsx";
import { Menu } from "../../ui/menu.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Money, Num, Time } from "../../ui/values.tsx";
import { CreateWorkspace } from "./create-workspace.tsx";
import { type MoneyDeed, MoneyDialog } from "./money-dialogs.tsx";
import type { Summary } from "./rows.ts";

const COLUMNS: readonly Column<Summary>[] = [
  {
    id: "name",
    header: "Workspace",
    className: "md:max-w-64",
    cell: (row) => row.name,
  },
  {
    id: "slug",
    header: "Slug and owners",
    className: "md:max-w-48",
    cell: (row) => (
      <span className="grid min-w-0">
        <code className="truncate font-mono text-[0.8125rem]" title={row.slug}>
          {row.slug}
        </code>
        <span className="truncate text-xs text-soft" title={row.owners.join(", ")}>
          {row.owners.length === 0 ? "no owner yet" : row.owners.join(", ")}
        </span>
      </span>
    ),
  },
  {
    id: "balance",
    header: "Balance",
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
    align: "end",
    cell: (row) => <Money amount={row.spent_this_month} currency={row.currency} />,
  },
  {
    id: "margin",
    header: "Margin",
    align: "end",
    phone: "hide",
    cell: (row) =>
      row.margin === null ? <span className="text-faint">usual</span> : <span>{percentText(Number(row.margin))}</span>,
  },
  { id: "members", header: "Members", align: "end", cell: (row) => <Num value={row.members} /> },
  { id: "keys", header: "Keys", align: "end", cell: (row) => <Num value={row.keys} /> },
  { id: "last", header: "Last request", cell: (row) => <Time at={row.last_request_at} /> },
];

function actions(act: (deed: MoneyDeed, row: Summary) => void): Column<Summary> {
  return {
    id: "actions",
    header: <span className="sr-only">Actions</span>,
    align: "end",
    cell: (row) => (
      <span className="relative z-1">
        <Menu
          label={`Actions for ${row.name}`}
          items={[
            { label: "Open", icon: "home", to: pathIn(row.slug) },
            { label: "Put money in", icon: "wallet", onSelect: () => act("credit", row) },
            { label: "Give promotional credit", icon: "spark", onSelect: () => act("promotion", row) },
            { label: "Refund a request", icon: "refresh", onSelect: () => act("refund", row) },
            { label: "Correct the balance", icon: "edit", onSelect: () => act("adjustment", row) },
            { label: "Set the margin", icon: "gauge", onSelect: () => act("margin", row) },
            { label: "Ledger", icon: "list", to: pathIn(row.slug, "wallet") },
          ]}
        />
      </span>
    ),
  };
}

/** Every workspace of the gateway, and money by hand. */
export function Screen() {
  const search = useSearchParams();
  const [deed, setDeed] = useState<{ readonly is: MoneyDeed; readonly of: Summary }>();
  const words = search.get("q");
  const query = { limit: 50, ...(words === "" ? {} : { search: words }) };
  const list = usePages("manageSummarizeWorkspaces", { query }, { keepPrevious: true });
  const isNew = search.get("new") === "1";
  return (
    <>
      <PageHeader
        title="Workspaces"
        about="Whoever has keys, a policy and a wallet. Money that you book here stands in the ledger and in the audit log."
        actions={
          <>
            <CallButton
              calls={[
                { id: "manageSummarizeWorkspaces", args: { query }, says: "List workspaces with balance and spend" },
                {
                  id: "manageCreditWallet",
                  args: {
                    params: { workspace: "demo" },
                    body: { amount: "25.00", note: "Invoice 17", id: "invoice-17" },
                  },
                  says: "Put money into a wallet",
                },
              ]}
            />
            <Button look="primary" icon="plus" onClick={() => search.set({ new: "1" })}>
              Create a workspace
            </Button>
          </>
        }
      />
      <Toolbar>
        <Field label="Search" hideLabel className="w-64 max-sm:w-full">
          <Input
            type="search"
            placeholder="Search name, slug or id"
            value={words}
            onChange={(event) => search.set({ q: event.target.value })}
          />
        </Field>
      </Toolbar>
      <Table
        label="Workspaces"
        columns={[...COLUMNS, actions((is, of) => setDeed({ is, of }))]}
        rows={list.rows}
        keyOf={(row) => row.id}
        linkOf={(row) => pathIn(row.slug)}
        query={list}
        empty={
          words === "" ? (
            <EmptyState icon="grid" title="There is no workspace yet" hint="Create one, then invite its owner.">
              <Button look="primary" onClick={() => search.set({ new: "1" })}>
                Create a workspace
              </Button>
            </EmptyState>
          ) : (
            <EmptyState icon="grid" title={`No workspace is called “${words}”`} hint="Search for a part of its name.">
              <Button onClick={() => search.set({ q: null })}>Show all</Button>
            </EmptyState>
          )
        }
      />
      <CreateWorkspace open={isNew} onClose={() => search.set({ new: null })} />
      {deed !== undefined && <MoneyDialog deed={deed.is} workspace={deed.of} onClose={() => setDeed(undefined)} />}
    </>
  );
}
