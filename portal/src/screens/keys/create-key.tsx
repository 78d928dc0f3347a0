import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { type Permissions, useCurrency } from "../../api/permissions.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { Callout } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { pathIn } from "../../url-state.ts";
import { fieldErrorOf } from "./field-error.ts";
import { createBody, type KeyDraft, NEW_KEY } from "./key-draft.ts";
import { KeySettingsFields, NEW_EXPIRIES } from "./key-fields.tsx";

type Props = {
  readonly workspace: string;
  readonly permissions: Permissions;
  readonly open: boolean;
  readonly onClose: () => void;
};

export function CreateKey({ workspace, permissions, open, onClose }: Props) {
  const [draft, setDraft] = useState<KeyDraft>(NEW_KEY);
  const [createdKey, setCreatedKey] = useState<ApiResponse<"manageCreateKey">>();
  const policy = useManage("manageShowKeyPolicy", { params: { workspace } }, { enabled: open }).data;
  const rules = useManage("manageShowPolicy", { params: { workspace } }, { enabled: open }).data;
  const currency = useCurrency(workspace);
  const create = useManageMutation("manageCreateKey", { onDone: setCreatedKey });
  // Members can only create personal keys for themselves.
  const member = permissions.isAdmin ? draft.member : permissions.email;
  const close = () => {
    onClose();
    setDraft(NEW_KEY);
    setCreatedKey(undefined);
    create.reset();
  };
  if (createdKey !== undefined)
    return (
      <KeyCreated
        {...{ workspace, open, close, createdKey }}
        needsApproval={member !== "" && policy?.approval === true}
      />
    );
  if (!permissions.isAdmin && policy?.personal_keys === false)
    return (
      <Dialog open={open} onClose={close} title="Create key" footer={<Button onClick={close}>Close</Button>}>
        <Callout title="Personal keys are off">
          Ask an admin or owner to turn on personal keys or to create a workspace key for you.
        </Callout>
      </Dialog>
    );
  const change = (changed: Partial<KeyDraft>) => setDraft({ ...draft, ...changed });
  const body = createBody({ ...draft, member }, permissions.isAdmin, Date.now());
  return (
    <FormDialog
      open={open}
      onClose={close}
      title="Create key"
      onSubmit={() => create.mutate({ params: { workspace }, body })}
      action="Create key"
      busy={create.isPending}
    >
      <BasicFields {...{ draft, change }} error={create.error} isSimulated={rules?.test_keys === "simulated"} />
      {permissions.isAdmin ? (
        <OwnerField
          {...{ workspace, draft, change }}
          mayBePersonal={policy?.personal_keys === true}
          error={create.error}
        />
      ) : (
        <p className="text-soft">
          A personal key. It is revoked when you leave the workspace
          {policy?.approval === true && " and works after an admin has approved it"}.
        </p>
      )}
      <KeySettingsFields
        {...{ workspace, draft, change }}
        error={create.error}
        isAdmin={permissions.isAdmin}
        currency={currency}
        expiries={NEW_EXPIRIES}
      />
      <ErrorNote error={create.error} />
    </FormDialog>
  );
}

type KeyFieldsProps = {
  readonly draft: KeyDraft;
  readonly change: (change: Partial<KeyDraft>) => void;
  readonly error: ApiError | null;
};

function BasicFields({ draft, change, error, isSimulated }: KeyFieldsProps & { readonly isSimulated: boolean }) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field label="Name" hint="For example, where you use it: backend, notebook." error={fieldErrorOf(error, "name")}>
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
        hint={
          draft.environment === "live"
            ? "For production traffic."
            : isSimulated
              ? "Reaches simulated providers only, and is reported separately from live traffic."
              : "Calls the same models at the same price as a live key, and is reported separately from live traffic."
        }
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

function OwnerField({
  workspace,
  draft,
  change,
  error,
  mayBePersonal,
}: KeyFieldsProps & { readonly workspace: string; readonly mayBePersonal: boolean }) {
  const members = useManage("manageListMembers", { params: { workspace }, query: { limit: 1000 } });
  const emails = (members.data?.data ?? []).map(({ email }) => email).toSorted();
  const hint =
    draft.member !== ""
      ? "A personal key is revoked when its member leaves the workspace."
      : mayBePersonal
        ? "Workspace keys keep working when members leave. Personal keys are revoked."
        : "Workspace keys keep working when members leave. Personal keys are turned off in Settings.";
  return (
    <Field label="Owner" hint={hint} error={fieldErrorOf(error, "member")}>
      <Select
        value={draft.member}
        disabled={!mayBePersonal}
        onChange={(event) => change({ member: event.target.value })}
        options={[
          { value: "", label: "Workspace" },
          ...emails.map((email) => ({ value: email, label: `Personal: ${email}` })),
        ]}
      />
    </Field>
  );
}

function KeyCreated({
  workspace,
  open,
  close,
  createdKey,
  needsApproval,
}: {
  readonly workspace: string;
  readonly open: boolean;
  readonly close: () => void;
  readonly createdKey: ApiResponse<"manageCreateKey">;
  readonly needsApproval: boolean;
}) {
  const footer = (
    <>
      <LinkButton to={pathIn(workspace, "connect")}>Connect client</LinkButton>
      <Button variant="primary" onClick={close}>
        I copied the key
      </Button>
    </>
  );
  return (
    <Dialog open={open} onClose={close} title={`Key created: ${createdKey.name}`} footer={footer}>
      <OneTimeSecret secret={createdKey.key} label={createdKey.name} />
      {needsApproval && (
        <Callout tone="warn" title="Waiting for approval">
          Requests with this key are rejected until an admin or owner approves it under Keys.
        </Callout>
      )}
    </Dialog>
  );
}
