import { useState } from "react";
import type { Row } from "../../api/client.ts";
import { useManageMutation, usePages } from "../../api/hooks.ts";
import { type Permissions, usePermissions } from "../../api/permissions.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Callout, PageHeader, Stack } from "../../ui/layout.tsx";
import { type Column, Table, useSortParam } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { useSearchParams, useWorkspace } from "../../url-state.ts";
import { CreateToken } from "./create-token.tsx";

type Token = Row<"manageListTokens">;

export function Screen() {
  const { workspace } = useWorkspace();
  const search = useSearchParams();
  const permissions = usePermissions(workspace);
  const [chosen, choose] = useState<Token>();
  const tokens = usePages("manageListTokens", { params: { workspace }, query: { limit: 1000 } });
  return (
    <>
      <TokensHeader workspace={workspace} permissions={permissions} onCreate={() => search.set({ new: "1" })} />
      <Stack>
        {!permissions.isOwner && <Callout>Only owners can create and revoke management tokens.</Callout>}
        <Table<Token>
          label="Management tokens"
          columns={columnsFor(permissions, choose)}
          rows={tokens.rows}
          keyOf={({ id }) => id}
          query={tokens}
          {...useSortParam("-created")}
          empty={
            <EmptyState
              icon="token"
              title="No management tokens"
              hint="Tokens give programs access to the management API, for example infrastructure as code."
            >
              {permissions.isOwner && (
                <Button variant="primary" icon="plus" onClick={() => search.set({ new: "1" })}>
                  Create token
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
      {chosen !== undefined && <RevokeToken workspace={workspace} token={chosen} onClose={() => choose(undefined)} />}
    </>
  );
}

function TokensHeader({
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
      about="Tokens give programs read-only or full admin access to the management API. They can't call models; use keys for that."
      actions={
        <>
          <ApiButton
            calls={[
              { id: "manageListTokens", args: { params: { workspace } }, description: "List tokens" },
              { id: "manageCreateToken", args: { params: { workspace }, body }, description: "Create token" },
            ]}
          />
          {permissions.isOwner && (
            <Button variant="primary" icon="plus" onClick={onCreate}>
              Create token
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
      sortValue: ({ name }) => name,
      phone: "title",
      cell: ({ name }) => <span className="font-medium break-words">{name}</span>,
    },
    {
      id: "access",
      header: "Access",
      sortValue: ({ access }) => access,
      cell: ({ access }) =>
        access === "write" ? <Badge tone="warn">Read and write</Badge> : <Badge tone="info">Read-only</Badge>,
    },
    {
      id: "by",
      header: "Created by",
      sortValue: ({ created_by }) => created_by,
      cell: ({ created_by }) => <span className="break-all">{created_by}</span>,
    },
    {
      id: "created",
      header: "Created",
      sortValue: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time at={created_at} as="day" />,
    },
    {
      id: "ends",
      header: "Expires",
      sortValue: ({ expires_at }) => expires_at,
      cell: (token) => <TokenExpiry token={token} />,
    },
  ];
  if (!permissions.isOwner) return columns;
  return [
    ...columns,
    {
      id: "actions",
      header: <span className="sr-only">Actions</span>,
      align: "end",
      cell: (token) => (
        <Button size="small" variant="danger" aria-label={`Revoke ${token.name}`} onClick={() => choose(token)}>
          Revoke
        </Button>
      ),
    },
  ];
}

function TokenExpiry({ token: { expires_at } }: { readonly token: Token }) {
  if (expires_at !== null && Date.parse(expires_at) <= Date.now()) return <Badge>Expired</Badge>;
  return <Time at={expires_at} as="day" />;
}

function RevokeToken({
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
      toast(`${token.name} revoked`);
      onClose();
    },
  });
  return (
    <Confirm
      open
      danger
      onClose={onClose}
      title={`Revoke ${token.name}?`}
      action="Revoke token"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ params: { workspace, id: token.id } })}
    >
      <p>Programs that use this token lose access with their next call. Past actions stay in the audit log.</p>
    </Confirm>
  );
}
