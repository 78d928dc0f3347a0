import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import type { Role } from "../../api/me.ts";
import { type Permissions, useCurrency } from "../../api/permissions.ts";
import { decimalOf } from "../../format/decimal.ts";
import { Button } from "../../ui/button.tsx";
import { DecimalInput } from "../../ui/decimal-input.tsx";
import { Dialog, FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Checkbox, Field, Input, Select } from "../../ui/field.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { Time } from "../../ui/values.tsx";
import { ROLES, roleOf, rolesFor } from "./member.ts";

/** What a new member may do beyond the playground. */
type MemberAccess = {
  /** Turns personal keys on for the workspace. */
  readonly allowsKeys: boolean;
  /** Empty: no limit. */
  readonly monthLimit: string;
};
const NO_CHANGES: MemberAccess = { allowsKeys: false, monthLimit: "" };
const monthOf = ({ monthLimit }: MemberAccess) => decimalOf(monthLimit) ?? monthLimit;
const isFieldError = (param: string | null | undefined) => param === "email" || param?.startsWith("limits") === true;

type Props = {
  readonly workspace: string;
  readonly permissions: Permissions;
  readonly open: boolean;
  readonly onClose: () => void;
};

export function Invite({ workspace, permissions, open, onClose }: Props) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("member");
  const [access, setAccess] = useState<MemberAccess>(NO_CHANGES);
  const [invitation, setInvitation] = useState<ApiResponse<"peopleInvite">>();
  const allowKeys = useManageMutation("manageChangeKeyPolicy", { stale: ["manageShowKeyPolicy"] });
  const invite = useManageMutation("peopleInvite", { onDone: setInvitation });
  const close = () => {
    onClose();
    setEmail("");
    setRole("member");
    setAccess(NO_CHANGES);
    setInvitation(undefined);
    invite.reset();
    allowKeys.reset();
  };
  const params = { workspace };
  const isMember = role === "member";
  const send = async () => {
    try {
      if (isMember && access.allowsKeys) await allowKeys.mutateAsync({ params, body: { personal_keys: true } });
      const limits = isMember && access.monthLimit !== "" ? { limits: { month: monthOf(access) } } : {};
      await invite.mutateAsync({ params, body: { email: email.trim(), role, ...limits } });
    } catch {
      // Shown in the dialog.
    }
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
      onSubmit={() => void send()}
      action="Send invitation"
      busy={invite.isPending || allowKeys.isPending}
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
      {isMember && (
        <MemberAccessFields
          workspace={workspace}
          access={access}
          onChange={setAccess}
          limitError={invite.error?.param?.startsWith("limits") === true ? invite.error.message : undefined}
        />
      )}
      <ErrorNote error={allowKeys.error ?? (isFieldError(invite.error?.param) ? null : invite.error)} />
    </FormDialog>
  );
}

/** Members can always use the playground; personal keys and a spend limit are the inviter's choice. */
function MemberAccessFields({
  workspace,
  access,
  onChange,
  limitError,
}: {
  readonly workspace: string;
  readonly access: MemberAccess;
  readonly onChange: (access: MemberAccess) => void;
  readonly limitError: string | undefined;
}) {
  const policy = useManage("manageShowKeyPolicy", { params: { workspace } }).data;
  const currency = useCurrency(workspace);
  return (
    <>
      {policy?.personal_keys === false ? (
        <Checkbox
          label="Let members create personal keys"
          hint="Personal keys are off in this workspace, so members can only use the playground. This turns them on for all members."
          checked={access.allowsKeys}
          onChange={(allowsKeys) => onChange({ ...access, allowsKeys })}
        />
      ) : (
        <p className="text-soft">
          {policy?.approval === true
            ? "The member can use the playground and create personal keys, which an admin approves."
            : "The member can use the playground and create personal keys."}
        </p>
      )}
      <Field
        label={`Monthly spend limit (${currency})`}
        optional
        hint="Applies to the playground and personal keys."
        error={limitError}
      >
        <DecimalInput
          empty="No limit"
          value={access.monthLimit}
          onChange={(monthLimit) => onChange({ ...access, monthLimit })}
        />
      </Field>
    </>
  );
}
