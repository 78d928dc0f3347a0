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

/** Who was invited and has not come yet; nothing is drawn when nobody was. */
export function Invitations({ workspace }: { readonly workspace: string }) {
  const invitations = useManage("peopleListInvitations", { params: { workspace } });
  const [chosen, choose] = useState<Invitation>();
  const rows = (invitations.data?.data ?? []).filter(({ state }) => state === "open" || state === "expired");
  const revoke = useManageMutation("peopleRevokeInvitation", {
    onDone: () => {
      toast("The invitation is taken back.");
      choose(undefined);
    },
  });
  if (rows.length === 0 && invitations.error === null) return null;
  const columns: Column<Invitation>[] = [
    { id: "email", header: "Invited", phone: "title", cell: ({ email }) => <span className="break-all">{email}</span> },
    { id: "role", header: "As", cell: ({ role }) => role },
    { id: "state", header: "State", cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge> },
    { id: "by", header: "By", cell: ({ invited_by }) => <span className="text-soft">{invited_by}</span> },
    { id: "until", header: "Good until", cell: ({ expires_at }) => <Time at={expires_at} as="short" /> },
    {
      id: "actions",
      header: <span className="sr-only">Actions</span>,
      align: "end",
      cell: (invitation) =>
        invitation.state === "open" ? (
          <Button size="small" onClick={() => choose(invitation)}>
            Take back
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
        empty={<EmptyState title="Nobody is invited" />}
      />
      <Confirm
        open={chosen !== undefined}
        onClose={() => choose(undefined)}
        title="Take the invitation back?"
        action="Take it back"
        danger
        busy={revoke.isPending}
        error={revoke.error}
        onConfirm={() => chosen !== undefined && revoke.mutate({ params: { workspace, id: chosen.id } })}
      >
        <p>The link that {chosen?.email} has opens nothing from now on. You can invite them again.</p>
      </Confirm>
    </section>
  );
}
