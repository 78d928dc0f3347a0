import { type SyntheticEvent, useState } from "react";
import { useWorkspace } from "../../address.ts";
import { useManageMutation } from "../../api/hooks.ts";
import { decimalOf } from "../../format/decimal.ts";
import { Button } from "../../ui/button.tsx";
import { DecimalInput } from "../../ui/decimal-input.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { type Limits, nameOf } from "./share.ts";

type Periods = { readonly day: string; readonly month: string };

/** What of a form is sent: the periods that were changed in it. An empty field lifts the limit. */
export function changedLimits(began: Periods, now: Periods) {
  const said = (name: keyof Periods) =>
    now[name] === began[name] ? {} : { [name]: now[name] === "" ? null : (decimalOf(now[name]) ?? now[name]) };
  return { ...said("day"), ...said("month") };
}

function whoOf({ of, member, key }: Pick<Limits, "of" | "member" | "key">) {
  if (of === "member") return { member };
  return of === "key" ? { key } : {};
}

/** Both limits of one spender, where they stand. */
export function EditLimits({ limits, onDone }: { readonly limits: Limits; readonly onDone: () => void }) {
  const { workspace } = useWorkspace();
  const [began] = useState<Periods>({ day: limits.day.limit ?? "", month: limits.month.limit ?? "" });
  const [day, setDay] = useState(began.day);
  const [month, setMonth] = useState(began.month);
  const save = useManageMutation("managePutLimits", {
    onDone: () => {
      toast(`Limits of ${nameOf(limits)} are saved. They hold from the next request on.`);
      onDone();
    },
  });
  const { param, message } = save.error ?? {};
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    const change = changedLimits(began, { day, month });
    if (Object.keys(change).length === 0) onDone();
    else save.mutate({ params: { workspace }, body: { ...whoOf(limits), ...change } });
  };
  return (
    <form onSubmit={submit} className="grid gap-3">
      <LimitFields
        currency={limits.currency}
        day={day}
        month={month}
        setDay={setDay}
        setMonth={setMonth}
        wrong={param === "day" || param === "month" ? { [param]: message } : {}}
      />
      {param !== "day" && param !== "month" && <ErrorNote error={save.error} />}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="primary" busy={save.isPending}>
          Save
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
  readonly wrong: { readonly day?: string | undefined; readonly month?: string | undefined };
};

export function LimitFields({ currency, day, month, setDay, setMonth, wrong }: FieldsProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field label={`A day, in ${currency}`} hint="Empty: no limit" error={wrong.day}>
        <DecimalInput empty="no limit" value={day} onChange={setDay} />
      </Field>
      <Field label={`A month, in ${currency}`} hint="Empty: no limit" error={wrong.month}>
        <DecimalInput empty="no limit" value={month} onChange={setMonth} />
      </Field>
    </div>
  );
}
