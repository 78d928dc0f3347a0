import { type SyntheticEvent, useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { DecimalInput } from "../../ui/decimal-input.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { useWorkspace } from "../../url-state.ts";
import { changedLimits, type Periods } from "./changed-limits.ts";
import { type Limits, nameOf } from "./limit-usage.ts";

function subjectParams({ of, member, key }: Pick<Limits, "of" | "member" | "key">) {
  if (of === "member") return { member };
  return of === "key" ? { key } : {};
}

/** Inline form for the daily and monthly limit. */
export function EditLimits({ limits, onDone }: { readonly limits: Limits; readonly onDone: () => void }) {
  const { workspace } = useWorkspace();
  const [initial] = useState<Periods>({ day: limits.day.limit ?? "", month: limits.month.limit ?? "" });
  const [day, setDay] = useState(initial.day);
  const [month, setMonth] = useState(initial.month);
  const save = useManageMutation("managePutLimits", {
    onDone: () => {
      toast(`Limits for ${nameOf(limits)} saved`);
      onDone();
    },
  });
  const { param, message } = save.error ?? {};
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    const change = changedLimits(initial, { day, month });
    if (Object.keys(change).length === 0) onDone();
    else save.mutate({ params: { workspace }, body: { ...subjectParams(limits), ...change } });
  };
  return (
    <form onSubmit={submit} className="grid gap-3">
      <LimitFields
        currency={limits.currency}
        day={day}
        month={month}
        setDay={setDay}
        setMonth={setMonth}
        fieldErrors={param === "day" || param === "month" ? { [param]: message } : {}}
      />
      {param !== "day" && param !== "month" && <ErrorNote error={save.error} />}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" variant="primary" busy={save.isPending}>
          Save limits
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </div>
    </form>
  );
}

type FieldsProps = {
  readonly currency: string;
  readonly day: string;
  readonly month: string;
  readonly setDay: (text: string) => void;
  readonly setMonth: (text: string) => void;
  readonly fieldErrors: { readonly day?: string | undefined; readonly month?: string | undefined };
};

export function LimitFields({ currency, day, month, setDay, setMonth, fieldErrors }: FieldsProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field label={`Daily limit (${currency})`} hint="Leave empty for no limit" error={fieldErrors.day}>
        <DecimalInput empty="No limit" value={day} onChange={setDay} />
      </Field>
      <Field label={`Monthly limit (${currency})`} hint="Leave empty for no limit" error={fieldErrors.month}>
        <DecimalInput empty="No limit" value={month} onChange={setMonth} />
      </Field>
    </div>
  );
}
