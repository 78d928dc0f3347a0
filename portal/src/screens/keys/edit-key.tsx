import { useState } from "react";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { dayText } from "../../format/time.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Callout } from "../../ui/layout.tsx";
import { toast } from "../../ui/toast.tsx";
import { fieldErrorOf } from "./field-error.ts";
import type { Key, Limits } from "./key.ts";
import { changeBody, draftOf } from "./key-draft.ts";
import { KeySettingsFields, NEW_EXPIRIES } from "./key-fields.tsx";

type Props = {
  readonly subject: Key;
  readonly limits: Limits | undefined;
  readonly isAdmin: boolean;
  readonly onClose: () => void;
};

export function EditKey({ subject, limits, isAdmin, onClose }: Props) {
  const [before] = useState(() => draftOf(subject, limits));
  const [draft, setDraft] = useState(before);
  const { workspace, state } = subject;
  const policy = useManage("manageShowKeyPolicy", { params: { workspace } }, { enabled: !isAdmin }).data;
  // Members can't change settings that an admin approves.
  const isLocked = !isAdmin && (state === "pending" || policy?.approval === true);
  const save = useManageMutation("manageChangeKey", {
    onDone: () => {
      toast(`${draft.name} updated`);
      onClose();
    },
  });
  const body = changeBody(before, draft, isAdmin, Date.now());
  const isChanged = Object.keys(body).length > 0;
  const { expires_at } = subject;
  const expiries =
    expires_at === null
      ? NEW_EXPIRIES
      : [{ value: "same", label: `Unchanged: ${dayText(Date.parse(expires_at))}` }, ...NEW_EXPIRIES];
  return (
    <FormDialog
      open
      onClose={onClose}
      title={`Edit ${subject.name}`}
      onSubmit={() => isChanged && save.mutate({ params: { id: subject.id }, body })}
      action="Save key"
      busy={save.isPending}
      disabled={!isChanged}
    >
      <Field label="Name" error={fieldErrorOf(save.error, "name")}>
        <Input
          required
          maxLength={100}
          value={draft.name}
          onChange={(event) => setDraft({ ...draft, name: event.target.value })}
        />
      </Field>
      {isLocked ? (
        <Callout>
          An admin approves a key's permissions, IP allowlist and expiry. To change them, revoke this key and create
          another one.
        </Callout>
      ) : (
        <KeySettingsFields
          workspace={workspace}
          draft={draft}
          change={(change) => setDraft({ ...draft, ...change })}
          error={save.error}
          isAdmin={isAdmin}
          currency={subject.currency}
          expiries={expiries}
        />
      )}
      <ErrorNote error={save.error} />
    </FormDialog>
  );
}
