import { useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import type { Permissions } from "../../api/powers.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Dialog, FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { ShownOnce } from "../../ui/shown-once.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { type Line, ROLES, roleOf, rolesFor } from "./member.ts";

/** What is being done with a member, in a dialog. */
export type Doing = { readonly is: "role" | "remove" | "reset"; readonly subject: Line };

type Props = {
  readonly workspace: string;
  readonly subject: Line;
  readonly permissions: Permissions;
  readonly onClose: () => void;
};

export function MemberDialog({ is, ...props }: Props & Pick<Doing, "is">) {
  switch (is) {
    case "role":
      return <ChangeRole {...props} />;
    case "remove":
      return <Remove {...props} />;
    case "reset":
      return <ResetLink {...props} />;
  }
}

function ChangeRole({ workspace, subject, permissions, onClose }: Props) {
  const [role, setRole] = useState(subject.role);
  const change = useManageMutation("manageChangeMember", {
    onDone: () => {
      toast(`${subject.email} is ${role === "member" ? "a" : "an"} ${role} now.`);
      onClose();
    },
  });
  return (
    <FormDialog
      open
      onClose={onClose}
      title={`The role of ${subject.email}`}
      onSubmit={() => change.mutate({ params: { workspace, email: subject.email }, body: { role } })}
      action="Change the role"
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
        <p className="text-soft">Management tokens that they made stop on the next request.</p>
      )}
      <ErrorNote error={change.error} />
    </FormDialog>
  );
}

/** Ends a membership. What happens to the keys is said before. */
function Remove({ workspace, subject, onClose }: Props) {
  const remove = useManageMutation("manageRemoveMember", {
    onDone: ({ email, revoked_keys }) => {
      const keys = revoked_keys.length;
      toast(
        `${email} has left.${keys === 0 ? "" : ` ${keys === 1 ? "A personal key" : `${keys} personal keys`} stopped.`}`,
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
      action="Remove from the workspace"
      name={subject.email}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ params: { workspace, email: subject.email } })}
    >
      <p>They do not see this workspace any more.</p>
      <p>
        {subject.keys === 0
          ? "They have no personal key here."
          : `${subject.keys === 1 ? "Their personal key is" : `Their ${subject.keys} personal keys are`} revoked and stop on the next request. This cannot be undone.`}
      </p>
      <p>
        Management tokens that they made stop as well. Workspace keys go on, whoever made them: if they may have copied
        one, rotate it.
      </p>
    </Confirm>
  );
}

/** For somebody who has lost their password where no mail is sent. */
function ResetLink({ workspace, subject, onClose }: Props) {
  const reset = useManageMutation("peopleResetMember");
  if (reset.data !== undefined)
    return (
      <Dialog
        open
        onClose={onClose}
        title={`A new password for ${subject.email}`}
        footer={
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        }
      >
        <ShownOnce secret={reset.data.link} label="reset link">
          <p className="text-soft">
            Good once, until <Time at={reset.data.expires_at} as="short" />. Whoever has it can sign in as them.
          </p>
        </ShownOnce>
      </Dialog>
    );
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Make a link for ${subject.email}?`}
      action="Make the link"
      busy={reset.isPending}
      error={reset.error}
      onConfirm={() => reset.mutate({ params: { workspace, email: subject.email } })}
    >
      <p>With it they set a new password. Make sure that it reaches them and nobody else.</p>
    </Confirm>
  );
}
