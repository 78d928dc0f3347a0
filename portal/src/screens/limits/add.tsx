import { useState } from "react";
import { useWorkspace } from "../../address.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { Segments } from "../../ui/tabs.tsx";
import { toast } from "../../ui/toast.tsx";
import { isEnded, keyLabels } from "../keys/key.ts";
import { changedLimits, LimitFields } from "./edit.tsx";

type Props = { readonly open: boolean; readonly onClose: () => void; readonly currency: string };

const KINDS = [
  { value: "key", label: "A key" },
  { value: "member", label: "A member" },
] as const;

/** A limit for somebody who has none yet. */
export function AddLimit({ open, onClose, currency }: Props) {
  const { workspace } = useWorkspace();
  const [of, setOf] = useState("key");
  const [who, setWho] = useState("");
  const [day, setDay] = useState("");
  const [month, setMonth] = useState("");
  const choices = useChoices(of, open);
  const chosen = choices.some(({ value }) => value === who) ? who : (choices[0]?.value ?? "");
  const save = useManageMutation("managePutLimits", {
    onDone: () => {
      toast("The limit is set. It holds from the next request on.");
      onClose();
    },
  });
  const { param, message } = save.error ?? {};
  const submit = () =>
    save.mutate({
      params: { workspace },
      body: { [of === "key" ? "key" : "member"]: chosen, ...changedLimits({ day: "", month: "" }, { day, month }) },
    });
  return (
    <FormDialog
      open={open}
      onClose={onClose}
      title="Set a limit"
      action="Set the limit"
      busy={save.isPending}
      disabled={chosen === "" || (day === "" && month === "")}
      onSubmit={submit}
    >
      <Segments label="Whose limit" options={KINDS} value={of} onChange={setOf} />
      <Field
        label={of === "key" ? "Key" : "Member"}
        hint={
          of === "key"
            ? "A key that replaces it after a rotation keeps the limit."
            : "It counts for all personal keys of the member together."
        }
      >
        <Select value={chosen} onChange={(event) => setWho(event.target.value)} options={choices} />
      </Field>
      <LimitFields
        {...{ currency, day, month, setDay, setMonth }}
        wrong={param === "day" || param === "month" ? { [param]: message } : {}}
      />
      {param !== "day" && param !== "month" && <ErrorNote error={save.error} />}
    </FormDialog>
  );
}

const LIST_ROWS = 1000;

function useChoices(of: string, enabled: boolean) {
  const { workspace } = useWorkspace();
  const args = { params: { workspace }, query: { limit: LIST_ROWS } };
  const keys = useManage("manageListKeys", args, { enabled: enabled && of === "key" });
  const members = useManage("manageListMembers", args, { enabled: enabled && of === "member" });
  if (of === "member") return (members.data?.data ?? []).map(({ email }) => ({ value: email, label: email }));
  const inUse = (keys.data?.data ?? []).filter((key) => !isEnded(key));
  return [...keyLabels(inUse)].map(([value, label]) => ({ value, label }));
}
