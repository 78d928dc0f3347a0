import { useState } from "react";
import { useSearchParams, useWorkspace } from "../../address.ts";
import type { Row } from "../../api/client.ts";
import { useManageMutation, usePages } from "../../api/hooks.ts";
import { type Permissions, usePermissions } from "../../api/powers.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Callout, PageHeader, Stack } from "../../ui/layout.tsx";
import { type Column, sortOf, sortRows, sortText, Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { CreateToken } from "./create-token.tsx";

type Token = Row<"manageListTokens">;

function sortValueOf(token: Token, by: string): string | number | null {
  switch (by) {
    case "name":
      return token.name.toLowerCase();
    case "access":
      return token.access;
    case "by":
      return token.created_by;
    case "ends":
      return token.expires_at === null ? null : Date.parse(token.expires_at);
    default:
      return Date.parse(token.created_at);
  }
}

export function Screen() {
  const { workspace } = useWorkspace();
  const search = useSearchParams();
  const permissions = usePermissions(workspace);
  const [chosen, choose] = useState<Token>();
  const tokens = usePages("manageListTokens", { params: { workspace }, query: { limit: 1000 } });
  const sort = sortOf(search.get("sort", "-created"));
  return (
    <>
      <Header workspace={workspace} permissions={permissions} onCreate={() => search.set({ new: "1" })} />
      <Stack>
        {!permissions.isOwner && (
          <Callout>Owners make and remove management tokens: one opens as much as an admin may do.</Callout>
        )}
        <Table<Token>
          label="Management tokens"
          columns={columnsFor(permissions, choose)}
          rows={sortRows(tokens.rows, sort, sortValueOf)}
          keyOf={({ id }) => id}
          query={tokens}
          sort={sort}
          onSort={(next) => search.set({ sort: sortText(next) })}
          empty={
            <EmptyState
              icon="token"
              title="No program manages this workspace"
              hint="A token opens the management API to a program: infrastructure as code, a nightly report."
            >
              {permissions.isOwner && (
                <Button look="primary" icon="plus" onClick={() => search.set({ new: "1" })}>
                  Create a token
                </Button>
              )}
            </EmptyState>
          }
        />
      </Stack>
      <CreateToken
        workspace={workspace}
        open={permissions.isOwner && search.get("new") === "1"}
        onClose={() => search.set({ new: null })}
      />
      {chosen !== undefined && <RemoveToken workspace={workspace} token={chosen} onClose={() => choose(undefined)} />}
    </>
  );
}

function Header({
  workspace,
  permissions,
  onCreate,
}: {
  readonly workspace: string;
  readonly permissions: Permissions;
  readonly onCreate: () => void;
}) {
  const body = { name: "terraform", access: "write" as const };
  return (
    <PageHeader
      title="Management tokens"
      about="With a token a program does what an admin may do here, or only reads. It opens no models: keys do that."
      actions={
        <>
          <CallButton
            calls={[
              { id: "manageListTokens", args: { params: { workspace } }, says: "List tokens" },
              { id: "manageCreateToken", args: { params: { workspace }, body }, says: "Create a token" },
            ]}
          />
          {permissions.isOwner && (
            <Button look="primary" icon="plus" onClick={onCreate}>
              Create a token
            </Button>
          )}
        </>
      }
    />
  );
}

function columnsFor(permissions: Permissions, choose: (token: Token) => void): Column<Token>[] {
  const columns: Column<Token>[] = [
    {
      id: "name",
      header: "Name",
      sortable: true,
      phone: "title",
      cell: ({ name }) => <span className="font-medium break-words">{name}</span>,
    },
    {
      id: "access",
      header: "Access",
      sortable: true,
      cell: ({ access }) =>
        access === "write" ? <Badge tone="warn">reads and changes</Badge> : <Badge tone="info">only reads</Badge>,
    },
    {
      id: "by",
      header: "Made by",
      sortable: true,
      cell: ({ created_by }) => <span className="break-all">{created_by}</span>,
    },
    { id: "created", header: "Created", sortable: true, cell: ({ created_at }) => <Time at={created_at} as="day" /> },
    { id: "ends", header: "Ends", sortable: true, cell: (token) => <Ends token={token} /> },
  ];
  if (!permissions.isOwner) return columns;
  return [
    ...columns,
    {
      id: "actions",
      header: <span className="sr-only">Actions</span>,
      align: "end",
      cell: (token) => (
        <Button size="small" look="danger" aria-label={`Remove ${token.name}`} onClick={() => choose(token)}>
          Remove
        </Button>
      ),
    },
  ];
}

function Ends({ token: { expires_at } }: { readonly token: Token }) {
  if (expires_at !== null && Date.parse(expires_at) <= Date.now()) return <Badge>expired</Badge>;
  return <Time at={expires_at} as="day" />;
}

function RemoveToken({
  workspace,
  token,
  onClose,
}: {
  readonly workspace: string;
  readonly token: Token;
  readonly onClose: () => void;
}) {
  const remove = useManageMutation("manageRemoveToken", {
    onDone: () => {
      toast(`${token.name} opens nothing any more.`);
      onClose();
    },
  });
  return (
    <Confirm
      open
      danger
      onClose={onClose}
      title={`Remove ${token.name}?`}
      action="Remove the token"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ params: { workspace, id: token.id } })}
    >
      <p>The program that uses it is refused from its next call on. What it did stays in the audit log.</p>
    </Confirm>
  );
}
