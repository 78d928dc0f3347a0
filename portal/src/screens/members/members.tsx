import { useMemo, useState } from "react";
import { useSearchParams, useWorkspace } from "../../address.ts";
import { useManage, usePages } from "../../api/hooks.ts";
import { type Permissions, useCurrency, usePermissions } from "../../api/powers.ts";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { PageHeader, Stack, Toolbar } from "../../ui/layout.tsx";
import { sortOf, sortRows, sortText, Table } from "../../ui/table.tsx";
import { KeyPolicyCard } from "../settings/key-policy.tsx";
import { Invitations } from "./invitations.tsx";
import { Invite } from "./invite.tsx";
import { type Line, linesOf, sortValueOf } from "./member.ts";
import { memberColumns } from "./member-columns.tsx";
import { type Doing, MemberDialog } from "./member-dialogs.tsx";

/** Members with their keys and this month's spend, as far as one may see them. */
function useLines(workspace: string) {
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
  const lines = linesOf(members.rows, keys.data?.data ?? [], usage.data?.data);
  return { ...members, lines };
}

export function Screen() {
  const { workspace, at } = useWorkspace();
  const search = useSearchParams();
  const permissions = usePermissions(workspace);
  const currency = useCurrency(workspace);
  const [doing, setDoing] = useState<Doing>();
  const { lines, ...asked } = useLines(workspace);
  const sort = sortOf(search.get("sort", "person"));
  const typed = search.get("q").trim().toLowerCase();
  const meant = lines.filter(({ email, name, role }) => `${email} ${name ?? ""} ${role}`.toLowerCase().includes(typed));
  return (
    <>
      <Header workspace={workspace} permissions={permissions} onInvite={() => search.set({ new: "1" })} />
      <Stack>
        <div>
          <Toolbar>
            <Field label="Search members" hideLabel className="w-full sm:w-72">
              <Input
                type="search"
                placeholder="Name, address, role"
                value={search.get("q")}
                onChange={(event) => search.set({ q: event.target.value })}
              />
            </Field>
          </Toolbar>
          <Table<Line>
            label="Members"
            columns={memberColumns({ currency, permissions, at, act: setDoing })}
            rows={sortRows(meant, sort, sortValueOf)}
            keyOf={({ id }) => id}
            query={asked}
            sort={sort}
            onSort={(next) => search.set({ sort: sortText(next) })}
            empty={<Nobody hasAny={lines.length > 0} permissions={permissions} search={search} />}
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
      {doing !== undefined && (
        <MemberDialog
          is={doing.is}
          subject={doing.subject}
          workspace={workspace}
          permissions={permissions}
          onClose={() => setDoing(undefined)}
        />
      )}
    </>
  );
}

function Header({
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
      about="Who belongs to this workspace, and what they may do here."
      actions={
        <>
          <CallButton
            calls={[
              { id: "manageListMembers", args: { params: { workspace } }, says: "List members" },
              {
                id: "peopleInvite",
                args: { params: { workspace }, body: { email: "ada@example.eu", role: "member" } },
                says: "Invite somebody",
              },
            ]}
          />
          {permissions.isAdmin && (
            <Button look="primary" icon="plus" onClick={onInvite}>
              Invite somebody
            </Button>
          )}
        </>
      }
    />
  );
}

function Nobody({
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
      <EmptyState icon="search" title="Nobody is called that" hint="Try a part of the address.">
        <Button onClick={() => search.set({ q: null })}>Show everybody</Button>
      </EmptyState>
    );
  return (
    <EmptyState icon="people" title="Nobody belongs to this workspace yet" hint="Invite the people who work with it.">
      {permissions.isAdmin && (
        <Button look="primary" icon="plus" onClick={() => search.set({ new: "1" })}>
          Invite somebody
        </Button>
      )}
    </EmptyState>
  );
}
