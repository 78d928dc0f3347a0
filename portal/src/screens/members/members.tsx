import { useMemo, useState } from "react";
import { useManage, usePages } from "../../api/hooks.ts";
import { type Permissions, useCurrency, usePermissions } from "../../api/permissions.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { PageHeader, Stack, Toolbar } from "../../ui/layout.tsx";
import { Table, useSortParam } from "../../ui/table.tsx";
import { useSearchParams, useWorkspace } from "../../url-state.ts";
import { KeyPolicyCard } from "../settings/key-policy.tsx";
import { Invitations } from "./invitations.tsx";
import { Invite } from "./invite.tsx";
import { type MemberRow, toMemberRows } from "./member.ts";
import { memberColumns } from "./member-columns.tsx";
import { type MemberAction, MemberDialog } from "./member-dialogs.tsx";

function useMemberRows(workspace: string) {
  const params = { workspace };
  const members = usePages("manageListMembers", { params, query: { limit: 1000 } });
  const keys = useManage("manageListKeys", { params, query: { limit: 1000 } });
  const month = useMemo(() => {
    const now = new Date();
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)).toISOString();
  }, []);
  const usage = useManage("manageShowUsage", {
    params,
    query: { by: "day", group: "member", env: "all", from: month },
  });
  const memberRows = toMemberRows(members.rows, keys.data?.data ?? [], usage.data?.data);
  return { ...members, memberRows };
}

export function Screen() {
  const { workspace, at } = useWorkspace();
  const search = useSearchParams();
  const permissions = usePermissions(workspace);
  const currency = useCurrency(workspace);
  const [action, setAction] = useState<MemberAction>();
  const { memberRows, ...query } = useMemberRows(workspace);
  const typed = search.get("q").trim().toLowerCase();
  const matches = memberRows.filter(({ email, name, role }) =>
    `${email} ${name ?? ""} ${role}`.toLowerCase().includes(typed),
  );
  return (
    <>
      <MembersHeader workspace={workspace} permissions={permissions} onInvite={() => search.set({ new: "1" })} />
      <Stack>
        <div>
          <Toolbar>
            <Field label="Search members" hideLabel className="w-full sm:w-72">
              <Input
                type="search"
                placeholder="Name, email, role"
                value={search.get("q")}
                onChange={(event) => search.set({ q: event.target.value })}
              />
            </Field>
          </Toolbar>
          <Table<MemberRow>
            label="Members"
            columns={memberColumns({ currency, permissions, at, act: setAction })}
            rows={matches}
            keyOf={({ id }) => id}
            query={query}
            {...useSortParam("person")}
            empty={<NoMembers hasAny={memberRows.length > 0} permissions={permissions} search={search} />}
          />
        </div>
        {permissions.isAdmin && <Invitations workspace={workspace} />}
        <KeyPolicyCard workspace={workspace} permissions={permissions} />
      </Stack>
      <Invite
        workspace={workspace}
        permissions={permissions}
        open={permissions.isAdmin && search.get("new") === "1"}
        onClose={() => search.set({ new: null })}
      />
      {action !== undefined && (
        <MemberDialog
          kind={action.kind}
          subject={action.subject}
          workspace={workspace}
          permissions={permissions}
          onClose={() => setAction(undefined)}
        />
      )}
    </>
  );
}

function MembersHeader({
  workspace,
  permissions,
  onInvite,
}: {
  readonly workspace: string;
  readonly permissions: Permissions;
  readonly onInvite: () => void;
}) {
  return (
    <PageHeader
      title="Members"
      about="Members of this workspace and their roles."
      actions={
        <>
          <ApiButton
            calls={[
              { id: "manageListMembers", args: { params: { workspace } }, description: "List members" },
              {
                id: "peopleInvite",
                args: { params: { workspace }, body: { email: "ada@example.eu", role: "member" } },
                description: "Invite member",
              },
            ]}
          />
          {permissions.isAdmin && (
            <Button variant="primary" icon="plus" onClick={onInvite}>
              Invite member
            </Button>
          )}
        </>
      }
    />
  );
}

function NoMembers({
  hasAny,
  permissions,
  search,
}: {
  readonly hasAny: boolean;
  readonly permissions: Permissions;
  readonly search: ReturnType<typeof useSearchParams>;
}) {
  if (hasAny)
    return (
      <EmptyState icon="search" title="No members match" hint="Try a part of the name or email.">
        <Button onClick={() => search.set({ q: null })}>Show all members</Button>
      </EmptyState>
    );
  return (
    <EmptyState icon="people" title="No members yet" hint="Invite people to this workspace.">
      {permissions.isAdmin && (
        <Button variant="primary" icon="plus" onClick={() => search.set({ new: "1" })}>
          Invite member
        </Button>
      )}
    </EmptyState>
  );
}
