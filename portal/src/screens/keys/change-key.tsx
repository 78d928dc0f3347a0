import { useState } from "react";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { dayText } from "../../format/time.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Callout } from "../../ui/layout.tsx";
import { toast } from "../../ui/toast.tsx";
import { changeBody, draftOf } from "./draft.ts";
import type { Key } from "./key.ts";
import { KeySettingsFields, NEW_EXPIRIES, wrongIn } from "./key-fields.tsx";

type Props = { readonly subject: Key; readonly isAdmin: boolean; readonly onClose: () => void };

/** Changes a key's settings; they hold from its next request on. */
export function ChangeKey({ subject, isAdmin, onClose }: Props) {
  const [draft, setDraft] = useState(() => draftOf(subject));
  const { workspace, state } = subject;
  const policy = useManage("manageShowKeyPolicy", { params: { workspace } }, { enabled: !isAdmin }).data;
  // What an admin looked at, or is looking at, is not a member's to change.
  const isFixed = !isAdmin && (state === "pending" || policy?.approval === true);
  const save = useManageMutation("manageChangeKey", {
    onDone: () => {
      toast(`The settings of ${draft.name} hold from its next request on.`);
      onClose();
    },
  });
  const body = changeBody(subject, draft, isAdmin, Date.now());
  const isChanged = Object.keys(body).length > 0;
  const { expires_at } = subject;
  const expiries =
    expires_at === null
      ? NEW_EXPIRIES
      : [{ value: "same", label: `As it is: ${dayText(Date.parse(expires_at))}` }, ...NEW_EXPIRIES];
  return (
    <FormDialog
      open
      onClose={onClose}
      title={`Settings of ${subject.name}`}
      onSubmit={() => isChanged && save.mutate({ params: { id: subject.id }, body })}
      action="Save"
      busy={save.isPending}
      disabled={!isChanged}
    >
      <Field label="Name" error={wrongIn(save.error, "name")}>
        <Input
          required
          maxLength={100}
          value={draft.name}
          onChange={(event) => setDraft({ ...draft, name: event.target.value })}
        />
      </Field>
      {isFixed ? (
        <Callout>
          What it may call, from where and until when is what an admin approves. To ask for something else, revoke it
          and make another.
        </Callout>
      ) : (
        <KeySettingsFields
          draft={draft}
          change={(change) => setDraft({ ...draft, ...change })}
          error={save.error}
          isAdmin={isAdmin}
          expiries={expiries}
        />
      )}
      <ErrorNote error={save.error} />
    </FormDialog>
  );
}
