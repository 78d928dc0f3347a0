import { useState } from "react";
import type { Row } from "../../api/client.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";

type Invitation = Row<"peopleListInvitations">;

const TONES = { open: "info", accepted: "good", expired: "neutral", revoked: "neutral" } as const;

/** Open and expired invitations; hidden if there are none. */
export function Invitations({ workspace }: { readonly workspace: string }) {
  const invitations = useManage("peopleListInvitations", { params: { workspace } });
  const [chosen, choose] = useState<Invitation>();
  const rows = (invitations.data?.data ?? []).filter(({ state }) => state === "open" || state === "expired");
  const revoke = useManageMutation("peopleRevokeInvitation", {
    onDone: () => {
      toast("Invitation revoked");
      choose(undefined);
    },
  });
  if (rows.length === 0 && invitations.error === null) return null;
  const columns: Column<Invitation>[] = [
    {
      id: "email",
      header: "Email",
      sortValue: ({ email }) => email,
      phone: "title",
      cell: ({ email }) => <span className="break-all">{email}</span>,
    },
    { id: "role", header: "Role", sortValue: ({ role }) => role, cell: ({ role }) => role },
    {
      id: "state",
      header: "Status",
      sortValue: ({ state }) => state,
      cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge>,
    },
    {
      id: "by",
      header: "Invited by",
      sortValue: ({ invited_by }) => invited_by,
      cell: ({ invited_by }) => <span className="text-soft">{invited_by}</span>,
    },
    {
      id: "until",
      header: "Expires",
      sortValue: ({ expires_at }) => expires_at,
      cell: ({ expires_at }) => <Time at={expires_at} as="short" />,
    },
    {
      id: "actions",
      header: <span className="sr-only">Actions</span>,
      align: "end",
      cell: (invitation) =>
        invitation.state === "open" ? (
          <Button size="small" onClick={() => choose(invitation)}>
            Revoke
          </Button>
        ) : null,
    },
  ];
  return (
    <section aria-labelledby="invitations" className="grid gap-2">
      <h2 id="invitations" className="text-sm">
        Invitations
      </h2>
      <Table
        label="Invitations"
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        query={invitations}
        empty={<EmptyState title="No invitations" />}
      />
      <Confirm
        open={chosen !== undefined}
        onClose={() => choose(undefined)}
        title="Revoke invitation?"
        action="Revoke invitation"
        danger
        busy={revoke.isPending}
        error={revoke.error}
        onConfirm={() => chosen !== undefined && revoke.mutate({ params: { workspace, id: chosen.id } })}
      >
        <p>The invitation link sent to {chosen?.email} stops working. You can invite them again.</p>
      </Confirm>
    </section>
  );
}
