import { useState } from "react";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { SegmentedControl } from "../../ui/tabs.tsx";
import { toast } from "../../ui/toast.tsx";
import { useWorkspace } from "../../url-state.ts";
import { isInactive, keyLabels } from "../keys/key.ts";
import { changedLimits } from "./changed-limits.ts";
import { LimitFields } from "./edit-limits.tsx";

type Props = { readonly open: boolean; readonly onClose: () => void; readonly currency: string };

const KINDS = [
  { value: "key", label: "Key" },
  { value: "member", label: "Member" },
] as const;

/** Sets the first limit of a key or member. */
export function AddLimit({ open, onClose, currency }: Props) {
  const { workspace } = useWorkspace();
  const [of, setOf] = useState("key");
  const [subject, setSubject] = useState("");
  const [day, setDay] = useState("");
  const [month, setMonth] = useState("");
  const options = useSubjectOptions(of, open);
  const chosen = options.some(({ value }) => value === subject) ? subject : (options[0]?.value ?? "");
  const save = useManageMutation("managePutLimits", {
    onDone: () => {
      toast("Spend limit set");
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
      title="Set spend limit"
      action="Set limit"
      busy={save.isPending}
      disabled={chosen === "" || (day === "" && month === "")}
      onSubmit={submit}
    >
      <SegmentedControl label="Applies to" options={KINDS} value={of} onChange={setOf} />
      <Field
        label={of === "key" ? "Key" : "Member"}
        hint={
          of === "key"
            ? "The limit carries over when the key is rotated."
            : "Applies to all personal keys of the member combined."
        }
      >
        <Select value={chosen} onChange={(event) => setSubject(event.target.value)} options={options} />
      </Field>
      <LimitFields
        {...{ currency, day, month, setDay, setMonth }}
        fieldErrors={param === "day" || param === "month" ? { [param]: message } : {}}
      />
      {param !== "day" && param !== "month" && <ErrorNote error={save.error} />}
    </FormDialog>
  );
}

const LIST_ROWS = 1000;

function useSubjectOptions(of: string, enabled: boolean) {
  const { workspace } = useWorkspace();
  const args = { params: { workspace }, query: { limit: LIST_ROWS } };
  const keys = useManage("manageListKeys", args, { enabled: enabled && of === "key" });
  const members = useManage("manageListMembers", args, { enabled: enabled && of === "member" });
  if (of === "member") return (members.data?.data ?? []).map(({ email }) => ({ value: email, label: email }));
  const activeKeys = (keys.data?.data ?? []).filter((key) => !isInactive(key));
  return [...keyLabels(activeKeys)].map(([value, label]) => ({ value, label }));
}
