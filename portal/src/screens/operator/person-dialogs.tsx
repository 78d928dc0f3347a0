import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManageMutation } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import type { Person } from "./rows.ts";

export type PersonAction =
  | "promote"
  | "demote"
  | "disable"
  | "enable"
  | "erase"
  | "sessions"
  | "second_factor"
  | "reset";

type Props = { readonly action: PersonAction; readonly person: Person; readonly onClose: () => void };

export function PersonDialog(props: Props) {
  switch (props.action) {
    case "promote":
    case "demote":
      return <SetOperatorRole {...props} />;
    case "disable":
    case "enable":
      return <SetDisabled {...props} />;
    case "erase":
      return <ErasePerson {...props} />;
    case "sessions":
      return <SignOutSessions {...props} />;
    case "second_factor":
      return <TurnOffTwoFactor {...props} />;
    case "reset":
      return <CreateResetLink {...props} />;
  }
}

function SetOperatorRole({ action, person, onClose }: Props) {
  const operator = action === "promote";
  const change = useManageMutation("peopleSetOperator", {
    onDone: () => {
      toast(operator ? `${person.name} is now an operator` : `${person.name} is no longer an operator`);
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => change.mutate({ params: { id: person.id }, body: { operator } })}
      title={operator ? `Grant operator role to ${person.name}?` : `Remove operator role from ${person.name}?`}
      action={operator ? "Grant operator role" : "Remove operator role"}
      danger={!operator}
      busy={change.isPending}
      error={change.error}
    >
      <p>
        {operator
          ? "Operators have full access to every workspace: funds, keys, members and settings. Require two-factor authentication first."
          : "Their memberships stay. Management tokens that they created in workspaces they don't own are revoked."}
      </p>
    </Confirm>
  );
}

function SetDisabled({ action, person, onClose }: Props) {
  const disabled = action === "disable";
  const change = useManageMutation("peopleSetDisabled", {
    onDone: () => {
      toast(disabled ? `Account of ${person.name} disabled` : `Account of ${person.name} enabled`);
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => change.mutate({ params: { id: person.id }, body: { disabled } })}
      title={disabled ? `Disable account of ${person.name}?` : `Enable account of ${person.name}?`}
      action={disabled ? "Disable account" : "Enable account"}
      danger={disabled}
      busy={change.isPending}
      error={change.error}
    >
      <p>
        {disabled
          ? "Their sessions and management tokens end immediately. Memberships and keys stay: revoke keys in each workspace if needed."
          : "They can sign in again with their existing credentials."}
      </p>
    </Confirm>
  );
}

function ErasePerson({ person, onClose }: Props) {
  const erase = useManageMutation("peopleErase", {
    onDone: () => {
      toast("Person erased");
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => erase.mutate({ params: { id: person.id } })}
      title={`Erase ${person.name}?`}
      action="Erase person"
      danger
      name={person.email}
      busy={erase.isPending}
      error={erase.error}
    >
      <p>
        They are removed from all workspaces. Their personal keys, management tokens and sign-in credentials are revoked
        immediately. Their name and email are removed from the account, invitations, nodes and provider keys.
      </p>
      <p>
        The ledger, audit log and request log stay unchanged. Rename keys that contain their name first. This can't be
        undone.
      </p>
    </Confirm>
  );
}

function SignOutSessions({ person, onClose }: Props) {
  const end = useManageMutation("peopleEndAllSessions", {
    onDone: ({ ended }) => {
      toast(`${ended} ${ended === 1 ? "session" : "sessions"} of ${person.name} signed out`);
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => end.mutate({ params: { id: person.id } })}
      title={`Sign out all sessions of ${person.name}?`}
      action="Sign out all sessions"
      danger
      busy={end.isPending}
      error={end.error}
    >
      <p>They are signed out in all browsers and the CLI. They can sign in again.</p>
    </Confirm>
  );
}

function TurnOffTwoFactor({ person, onClose }: Props) {
  const turnOff = useManageMutation("peopleDropSecondFactor", {
    onDone: () => {
      toast(`Two-factor authentication of ${person.name} turned off`);
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => turnOff.mutate({ params: { id: person.id } })}
      title={`Turn off two-factor authentication of ${person.name}?`}
      action="Turn off"
      danger
      busy={turnOff.isPending}
      error={turnOff.error}
    >
      <p>For people who lost their device and backup codes. Verify their identity through another channel first.</p>
    </Confirm>
  );
}

function CreateResetLink({ person, onClose }: Props) {
  const [resetLink, setResetLink] = useState<ApiResponse<"peopleReset">>();
  const reset = useManageMutation("peopleReset", { stale: [], onDone: setResetLink });
  if (resetLink !== undefined)
    return (
      <Dialog
        open
        onClose={onClose}
        title={`Password reset link for ${person.name}`}
        footer={<Button onClick={onClose}>Done</Button>}
      >
        <OneTimeSecret secret={resetLink.link} label="Password reset link" />
        <p className="text-soft">
          Send the link to {person.email} through a trusted channel. It works once, until{" "}
          <Time at={resetLink.expires_at} as="short" />.
        </p>
      </Dialog>
    );
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => reset.mutate({ params: { id: person.id } })}
      title={`Create password reset link for ${person.name}?`}
      action="Create link"
      busy={reset.isPending}
      error={reset.error}
    >
      <p>Anyone with the link can set a new password for this account. It is shown once.</p>
    </Confirm>
  );
}
