import { useState } from "react";
import { pathIn } from "../../address.ts";
import type { ApiResponse } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import type { Permissions } from "../../api/powers.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { Callout } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { ShownOnce } from "../../ui/shown-once.tsx";
import { createBody, type KeyDraft, NEW_KEY } from "./draft.ts";
import { KeySettingsFields, NEW_EXPIRIES, wrongIn } from "./key-fields.tsx";

type Props = {
  readonly workspace: string;
  readonly permissions: Permissions;
  readonly open: boolean;
  readonly onClose: () => void;
};

/** Makes a key and shows it this once. */
export function CreateKey({ workspace, permissions, open, onClose }: Props) {
  const [draft, setDraft] = useState<KeyDraft>(NEW_KEY);
  const [made, setMade] = useState<ApiResponse<"manageCreateKey">>();
  const policy = useManage("manageShowKeyPolicy", { params: { workspace } }, { enabled: open }).data;
  const create = useManageMutation("manageCreateKey", { onDone: setMade });
  // A member makes personal keys for themselves and nothing else.
  const member = permissions.isAdmin ? draft.member : permissions.email;
  const close = () => {
    onClose();
    setDraft(NEW_KEY);
    setMade(undefined);
    create.reset();
  };
  if (made !== undefined)
    return <Made {...{ workspace, open, close, made }} waits={member !== "" && policy?.approval === true} />;
  if (!permissions.isAdmin && policy?.personal_keys === false)
    return (
      <Dialog open={open} onClose={close} title="Create a key" footer={<Button onClick={close}>Close</Button>}>
        <Callout title="Personal keys are switched off here">
          Ask an admin or an owner: they switch personal keys on, or make a workspace key for your work.
        </Callout>
      </Dialog>
    );
  const change = (changed: Partial<KeyDraft>) => setDraft({ ...draft, ...changed });
  const body = createBody({ ...draft, member }, permissions.isAdmin, Date.now());
  return (
    <FormDialog
      open={open}
      onClose={close}
      title="Create a key"
      onSubmit={() => create.mutate({ params: { workspace }, body })}
      action="Create the key"
      busy={create.isPending}
    >
      <Basics {...{ draft, change }} error={create.error} />
      {permissions.isAdmin ? (
        <Owner {...{ workspace, draft, change }} mayBePersonal={policy?.personal_keys === true} error={create.error} />
      ) : (
        <p className="text-soft">
          A personal key of yours. It ends when you leave the workspace
          {policy?.approval === true && ", and works once an admin has approved it"}.
        </p>
      )}
      <KeySettingsFields
        {...{ draft, change }}
        error={create.error}
        isAdmin={permissions.isAdmin}
        expiries={NEW_EXPIRIES}
      />
      <ErrorNote error={create.error} />
    </FormDialog>
  );
}

type PartProps = {
  readonly draft: KeyDraft;
  readonly change: (change: Partial<KeyDraft>) => void;
  readonly error: ApiError | null;
};

function Basics({ draft, change, error }: PartProps) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field label="Name" hint="Where it is used: backend, notebook." error={wrongIn(error, "name")}>
        <Input
          autoFocus
          required
          maxLength={100}
          value={draft.name}
          onChange={(event) => change({ name: event.target.value })}
        />
      </Field>
      <Field
        label="Environment"
        hint={draft.environment === "live" ? "Real traffic." : "Counted apart from real traffic."}
      >
        <Select
          value={draft.environment}
          onChange={(event) => change({ environment: event.target.value === "test" ? "test" : "live" })}
          options={[
            { value: "live", label: "Live" },
            { value: "test", label: "Test" },
          ]}
        />
      </Field>
    </div>
  );
}

/** Whose key it is, and what becomes of it when somebody leaves. */
function Owner({
  workspace,
  draft,
  change,
  error,
  mayBePersonal,
}: PartProps & { readonly workspace: string; readonly mayBePersonal: boolean }) {
  const members = useManage("manageListMembers", { params: { workspace }, query: { limit: 1000 } });
  const emails = (members.data?.data ?? []).map(({ email }) => email).toSorted();
  const hint =
    draft.member !== ""
      ? "A personal key ends the moment its member leaves the workspace."
      : mayBePersonal
        ? "A workspace key goes on when people leave. A personal key ends with its member."
        : "A workspace key goes on when people leave. Personal keys are switched off in the settings.";
  return (
    <Field label="Whose key" hint={hint} error={wrongIn(error, "member")}>
      <Select
        value={draft.member}
        disabled={!mayBePersonal}
        onChange={(event) => change({ member: event.target.value })}
        options={[
          { value: "", label: "The workspace's" },
          ...emails.map((email) => ({ value: email, label: `Personal: ${email}` })),
        ]}
      />
    </Field>
  );
}

function Made({
  workspace,
  open,
  close,
  made,
  waits,
}: {
  readonly workspace: string;
  readonly open: boolean;
  readonly close: () => void;
  readonly made: ApiResponse<"manageCreateKey">;
  readonly waits: boolean;
}) {
  const footer = (
    <>
      <LinkButton to={pathIn(workspace, "connect")}>Connect a client</LinkButton>
      <Button look="primary" onClick={close}>
        I have copied it
      </Button>
    </>
  );
  return (
    <Dialog open={open} onClose={close} title={`Your new key: ${made.name}`} footer={footer}>
      <ShownOnce secret={made.key} label={made.name} />
      {waits && (
        <Callout tone="warn" title="It waits for approval">
          Calls with it are refused until an admin or an owner approves it. They see it on their Keys screen.
        </Callout>
      )}
    </Dialog>
  );
}
