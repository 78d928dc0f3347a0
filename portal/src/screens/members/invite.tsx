import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManageMutation } from "../../api/hooks.ts";
import type { Role } from "../../api/me.ts";
import type { Permissions } from "../../api/powers.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { ShownOnce } from "../../ui/shown-once.tsx";
import { Time } from "../../ui/values.tsx";
import { ROLES, roleOf, rolesFor } from "./member.ts";

type Props = {
  readonly workspace: string;
  readonly permissions: Permissions;
  readonly open: boolean;
  readonly onClose: () => void;
};

/** Invites somebody by their address; the link is shown once. */
export function Invite({ workspace, permissions, open, onClose }: Props) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("member");
  const [made, setMade] = useState<ApiResponse<"peopleInvite">>();
  const invite = useManageMutation("peopleInvite", { onDone: setMade });
  const close = () => {
    onClose();
    setEmail("");
    setRole("member");
    setMade(undefined);
    invite.reset();
  };
  if (made !== undefined)
    return (
      <Dialog
        open={open}
        onClose={close}
        title={`An invitation for ${made.email}`}
        footer={
          <Button look="primary" onClick={close}>
            Done
          </Button>
        }
      >
        <p className="text-soft">
          {made.mailed
            ? "It is on its way by mail. You can also send the link yourself:"
            : "This gateway sends no mail: send the link to them yourself."}
        </p>
        <ShownOnce secret={made.link} label="invitation link">
          <p className="text-soft">
            Good once, for this address only, until <Time at={made.expires_at} as="short" />.
          </p>
        </ShownOnce>
      </Dialog>
    );
  return (
    <FormDialog
      open={open}
      onClose={close}
      title="Invite somebody"
      onSubmit={() => invite.mutate({ params: { workspace }, body: { email: email.trim(), role } })}
      action="Invite"
      busy={invite.isPending}
    >
      <Field label="E-mail address" error={invite.error?.param === "email" ? invite.error.message : undefined}>
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
