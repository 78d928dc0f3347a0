import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManageMutation } from "../../api/hooks.ts";
import type { Role } from "../../api/me.ts";
import type { Permissions } from "../../api/permissions.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { Time } from "../../ui/values.tsx";
import { ROLES, roleOf, rolesFor } from "./member.ts";

type Props = {
  readonly workspace: string;
  readonly permissions: Permissions;
  readonly open: boolean;
  readonly onClose: () => void;
};

export function Invite({ workspace, permissions, open, onClose }: Props) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("member");
  const [invitation, setInvitation] = useState<ApiResponse<"peopleInvite">>();
  const invite = useManageMutation("peopleInvite", { onDone: setInvitation });
  const close = () => {
    onClose();
    setEmail("");
    setRole("member");
    setInvitation(undefined);
    invite.reset();
  };
  if (invitation !== undefined)
    return (
      <Dialog
        open={open}
        onClose={close}
        title={`Invitation for ${invitation.email}`}
        footer={
          <Button variant="primary" onClick={close}>
            Done
          </Button>
        }
      >
        <p className="text-soft">
          {invitation.mailed
            ? "The invitation was sent by email. You can also share the link:"
            : "Email isn't set up on this gateway. Share the link yourself."}
        </p>
        <OneTimeSecret secret={invitation.link} label="Invitation link">
          <p className="text-soft">
            The link works once, only for this email, until <Time at={invitation.expires_at} as="short" />.
          </p>
        </OneTimeSecret>
      </Dialog>
    );
  return (
    <FormDialog
      open={open}
      onClose={close}
      title="Invite member"
      onSubmit={() => invite.mutate({ params: { workspace }, body: { email: email.trim(), role } })}
      action="Send invitation"
      busy={invite.isPending}
    >
      <Field label="Email" error={invite.error?.param === "email" ? invite.error.message : undefined}>
        <Input type="email" autoFocus required value={email} onChange={(event) => setEmail(event.target.value)} />
      </Field>
      <Field label="Role" hint={ROLES.find(({ value }) => value === role)?.may}>
        <Select
          value={role}
          onChange={(event) => setRole(roleOf(event.target.value))}
          options={rolesFor(permissions).map(({ value, label }) => ({ value, label }))}
        />
      </Field>
      <ErrorNote error={invite.error} />
    </FormDialog>
  );
}
