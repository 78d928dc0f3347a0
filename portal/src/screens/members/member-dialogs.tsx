import { useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import type { Permissions } from "../../api/permissions.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Dialog, FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { type MemberRow, ROLES, roleOf, rolesFor } from "./member.ts";

/** The open dialog of a member. */
export type MemberAction = { readonly kind: "role" | "remove" | "reset"; readonly subject: MemberRow };

type Props = {
  readonly workspace: string;
  readonly subject: MemberRow;
  readonly permissions: Permissions;
  readonly onClose: () => void;
};

export function MemberDialog({ kind, ...props }: Props & Pick<MemberAction, "kind">) {
  switch (kind) {
    case "role":
      return <ChangeRole {...props} />;
    case "remove":
      return <RemoveMember {...props} />;
    case "reset":
      return <ResetLink {...props} />;
  }
}

function ChangeRole({ workspace, subject, permissions, onClose }: Props) {
  const [role, setRole] = useState(subject.role);
  const change = useManageMutation("manageChangeMember", {
    onDone: () => {
      toast(`${subject.email} is now ${role === "member" ? "a" : "an"} ${role}`);
      onClose();
    },
  });
  return (
    <FormDialog
      open
      onClose={onClose}
      title={`Change role of ${subject.email}`}
      onSubmit={() => change.mutate({ params: { workspace, email: subject.email }, body: { role } })}
      action="Change role"
      busy={change.isPending}
      disabled={role === subject.role}
    >
      <Field label="Role" hint={ROLES.find(({ value }) => value === role)?.may}>
        <Select
          value={role}
          onChange={(event) => setRole(roleOf(event.target.value))}
          options={rolesFor(permissions).map(({ value, label }) => ({ value, label }))}
        />
      </Field>
      {subject.role === "owner" && role !== "owner" && (
        <p className="text-soft">Management tokens that they created stop working with the next request.</p>
      )}
      <ErrorNote error={change.error} />
    </FormDialog>
  );
}

function RemoveMember({ workspace, subject, onClose }: Props) {
  const remove = useManageMutation("manageRemoveMember", {
    onDone: ({ email, revoked_keys }) => {
      const keys = revoked_keys.length;
      toast(
        `${email} removed.${keys === 0 ? "" : ` ${keys === 1 ? "1 personal key" : `${keys} personal keys`} revoked.`}`,
      );
      onClose();
    },
  });
  return (
    <Confirm
      open
      danger
      onClose={onClose}
      title={`Remove ${subject.email}?`}
      action="Remove member"
      name={subject.email}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ params: { workspace, email: subject.email } })}
    >
      <p>They lose access to this workspace.</p>
      <p>
        {subject.keys === 0
          ? "They have no personal keys."
          : `${subject.keys === 1 ? "Their personal key is" : `Their ${subject.keys} personal keys are`} revoked. This can't be undone.`}
      </p>
      <p>
        Management tokens that they created also stop working. Workspace keys keep working: rotate any key that they may
        have copied.
      </p>
    </Confirm>
  );
}

/** For gateways without email, where members can't reset their password themselves. */
function ResetLink({ workspace, subject, onClose }: Props) {
  const reset = useManageMutation("peopleResetMember");
  if (reset.data !== undefined)
    return (
      <Dialog
        open
        onClose={onClose}
        title={`Password reset link for ${subject.email}`}
        footer={
          <Button variant="primary" onClick={onClose}>
            Done
          </Button>
        }
      >
        <OneTimeSecret secret={reset.data.link} label="Password reset link">
          <p className="text-soft">
            The link works once, until <Time at={reset.data.expires_at} as="short" />. Anyone with the link can sign in
            as this member.
          </p>
        </OneTimeSecret>
      </Dialog>
    );
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Create password reset link for ${subject.email}?`}
      action="Create link"
      busy={reset.isPending}
      error={reset.error}
      onConfirm={() => reset.mutate({ params: { workspace, email: subject.email } })}
    >
      <p>The link lets them set a new password. Send it to them through a trusted channel.</p>
    </Confirm>
  );
}
