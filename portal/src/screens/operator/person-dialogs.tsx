import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManageMutation } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ShownOnce } from "../../ui/shown-once.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import type { Person } from "./rows.ts";

export type PersonDeed = "promote" | "demote" | "disable" | "enable" | "erase" | "sessions" | "second_factor" | "reset";

type Props = { readonly deed: PersonDeed; readonly person: Person; readonly onClose: () => void };

/** Asks before something is done with an account. */
export function PersonDialog(props: Props) {
  switch (props.deed) {
    case "promote":
    case "demote":
      return <Operator {...props} />;
    case "disable":
    case "enable":
      return <Disable {...props} />;
    case "erase":
      return <Erase {...props} />;
    case "sessions":
      return <Sessions {...props} />;
    case "second_factor":
      return <SecondFactor {...props} />;
    case "reset":
      return <Reset {...props} />;
  }
}

function Operator({ deed, person, onClose }: Props) {
  const operator = deed === "promote";
  const change = useManageMutation("peopleSetOperator", {
    onDone: () => {
      toast(operator ? `${person.name} runs the gateway from now on.` : `${person.name} is no operator any more.`);
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => change.mutate({ params: { id: person.id }, body: { operator } })}
      title={operator ? `Make ${person.name} operator` : `Take operator away from ${person.name}`}
      action={operator ? "Make operator" : "Take it away"}
      danger={!operator}
      busy={change.isPending}
      error={change.error}
    >
      <p>
        {operator
          ? "An operator may do everything in every workspace: money, keys, members, settings. Ask for a second factor first."
          : "Their memberships stay; management tokens that they made where they are no owner end. It holds from their next call on."}
      </p>
    </Confirm>
  );
}

function Disable({ deed, person, onClose }: Props) {
  const disabled = deed === "disable";
  const change = useManageMutation("peopleSetDisabled", {
    onDone: () => {
      toast(disabled ? `${person.name} cannot sign in any more.` : `${person.name} can sign in again.`);
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => change.mutate({ params: { id: person.id }, body: { disabled } })}
      title={disabled ? `Disable the account of ${person.name}` : `Enable the account of ${person.name}`}
      action={disabled ? "Disable" : "Enable"}
      danger={disabled}
      busy={change.isPending}
      error={change.error}
    >
      <p>
        {disabled
          ? "Their sessions and the management tokens that they made end at once. Memberships and keys stay: revoke keys in each workspace if they should end, too."
          : "They sign in with what they had."}
      </p>
    </Confirm>
  );
}

function Erase({ person, onClose }: Props) {
  const erase = useManageMutation("peopleErase", {
    onDone: () => {
      toast("The person is erased.");
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => erase.mutate({ params: { id: person.id } })}
      title={`Erase ${person.name}`}
      action="Erase"
      danger
      name={person.email}
      busy={erase.isPending}
      error={erase.error}
    >
      <p>
        They leave all workspaces. Their personal keys, the management tokens that they made and everything they sign in
        with end at once. Name and address leave the account, invitations, nodes and provider keys.
      </p>
      <p>
        Ledger, audit log and request log stay as they are. If the name of a key says who they are, change it first.
        This cannot be undone.
      </p>
    </Confirm>
  );
}

function Sessions({ person, onClose }: Props) {
  const end = useManageMutation("peopleEndAllSessions", {
    onDone: ({ ended }) => {
      toast(`${ended} ${ended === 1 ? "session" : "sessions"} of ${person.name} ended.`);
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => end.mutate({ params: { id: person.id } })}
      title={`End all sessions of ${person.name}`}
      action="End them"
      danger
      busy={end.isPending}
      error={end.error}
    >
      <p>They are signed out everywhere, on the command line as well, and can sign in again.</p>
    </Confirm>
  );
}

function SecondFactor({ person, onClose }: Props) {
  const drop = useManageMutation("peopleDropSecondFactor", {
    onDone: () => {
      toast(`${person.name} signs in without a second factor now.`);
      onClose();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => drop.mutate({ params: { id: person.id } })}
      title={`Take the second factor off ${person.name}`}
      action="Take it off"
      danger
      busy={drop.isPending}
      error={drop.error}
    >
      <p>For somebody who lost their device and codes. Make sure by another way that it is really them who asks.</p>
    </Confirm>
  );
}

function Reset({ person, onClose }: Props) {
  const [made, setMade] = useState<ApiResponse<"peopleReset">>();
  const reset = useManageMutation("peopleReset", { stale: [], onDone: setMade });
  if (made !== undefined)
    return (
      <Dialog
        open
        onClose={onClose}
        title={`Reset link for ${person.name}`}
        footer={<Button onClick={onClose}>Done</Button>}
      >
        <ShownOnce secret={made.link} label="Link" />
        <p className="text-soft">
          Hand it to {person.email} by a way you trust. It is good once, until <Time at={made.expires_at} as="short" />.
        </p>
      </Dialog>
    );
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => reset.mutate({ params: { id: person.id } })}
      title={`Reset link for ${person.name}`}
      action="Make the link"
      busy={reset.isPending}
      error={reset.error}
    >
      <p>Whoever has the link sets a new password for the account. It is shown this once.</p>
    </Confirm>
  );
}
