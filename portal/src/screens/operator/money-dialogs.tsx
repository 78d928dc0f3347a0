import { type ReactNode, useState } from "react";
import type { ApiError } from "../../api/error.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { decimalOf } from "../../format/decimal.ts";
import { moneyText } from "../../format/money.ts";
import { percentText } from "../../format/number.ts";
import { DAY_MS } from "../../format/time.ts";
import { DecimalInput } from "../../ui/decimal-input.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import type { Summary } from "./rows.ts";

export type MoneyDeed = "credit" | "promotion" | "refund" | "adjustment" | "margin";

type Props = { readonly workspace: Summary; readonly onClose: () => void };

const DIALOGS = {
  credit: Credit,
  promotion: Promotion,
  refund: Refund,
  adjustment: Adjustment,
  margin: Margin,
} as const;

/** Money that an operator moves by hand. */
export function MoneyDialog({ deed, ...props }: Props & { readonly deed: MoneyDeed }) {
  const One = DIALOGS[deed];
  return <One {...props} />;
}

/** A name for a booking: the same dialog sent twice books once. */
function useReference(): string {
  const [reference] = useState(
    () =>
      `portal-${new Date()
        .toISOString()
        .replace(/[^0-9]/g, "")
        .slice(0, 17)}`,
  );
  return reference;
}

type FrameProps = {
  readonly title: string;
  readonly action: string;
  readonly onClose: () => void;
  readonly onSubmit: () => void;
  readonly busy: boolean;
  readonly error: ApiError | null;
  readonly children: ReactNode;
};

function Frame({ title, action, onClose, onSubmit, busy, error, children }: FrameProps) {
  return (
    <FormDialog open onClose={onClose} title={title} onSubmit={onSubmit} action={action} busy={busy}>
      {children}
      <ErrorNote error={error} />
    </FormDialog>
  );
}

type AmountProps = {
  readonly currency: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** May be left empty, which is all that a request was charged. */
  readonly mayBeAll?: boolean | undefined;
};

function Amount({ currency, value, onChange, mayBeAll = false }: AmountProps) {
  return (
    <Field
      label={`Amount in ${currency}`}
      optional={mayBeAll}
      hint={mayBeAll ? "Empty: all that it was charged." : undefined}
    >
      <DecimalInput empty={mayBeAll ? "all" : undefined} value={value} onChange={onChange} />
    </Field>
  );
}

/** What was typed, as it is sent and as it will be booked; no text until it is an amount. */
function useAmount(currency: string) {
  const [typed, setTyped] = useState("");
  const amount = decimalOf(typed);
  const text = amount === undefined ? undefined : moneyText(amount, currency, "exact");
  return { amount: amount ?? typed, text, field: { currency, value: typed, onChange: setTyped } };
}

function Reason({
  label,
  value,
  onChange,
  required = true,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  required?: boolean;
}) {
  return (
    <Field label={label} optional={!required} hint="It stands in the ledger and in the audit log.">
      <Input required={required} maxLength={500} value={value} onChange={(event) => onChange(event.target.value)} />
    </Field>
  );
}

function Credit({ workspace: { slug, name, currency, balance }, onClose }: Props) {
  const { amount, text, field } = useAmount(currency);
  const [note, setNote] = useState("");
  const reference = useReference();
  const credit = useManageMutation("manageCreditWallet", {
    onDone: (booked) => {
      toast(`${moneyText(booked.amount, booked.currency, "exact")} are in the wallet of ${name}.`);
      onClose();
    },
  });
  const body = { amount, id: reference, ...(note === "" ? {} : { note }) };
  return (
    <Frame
      title={`Put money into ${name}`}
      action={text === undefined ? "Put money in" : `Put ${text} in`}
      onClose={onClose}
      onSubmit={() => credit.mutate({ params: { workspace: slug }, body })}
      busy={credit.isPending}
      error={credit.error}
    >
      <p className="text-soft">The balance is {moneyText(balance, currency, "balance")} now.</p>
      <Amount {...field} />
      <Reason label="Note" value={note} onChange={setNote} required={false} />
    </Frame>
  );
}

function Promotion({ workspace: { slug, name, currency }, onClose }: Props) {
  const { amount, text, field } = useAmount(currency);
  const [until, setUntil] = useState(() => new Date(Date.now() + 90 * DAY_MS).toISOString().slice(0, 10));
  const [note, setNote] = useState("");
  const reference = useReference();
  const grant = useManageMutation("manageGrantPromotion", {
    onDone: (booked) => {
      toast(`${name} has ${moneyText(booked.amount, booked.currency, "exact")} of promotional credit.`);
      onClose();
    },
  });
  const body = { amount, expires_at: until, reference, ...(note === "" ? {} : { note }) };
  return (
    <Frame
      title={`Promotional credit for ${name}`}
      action={text === undefined ? "Give credit" : `Give ${text}`}
      onClose={onClose}
      onSubmit={() => grant.mutate({ params: { workspace: slug }, body })}
      busy={grant.isPending}
      error={grant.error}
    >
      <p className="text-soft">
        It is spent before money that was paid in. What is unused at its date leaves the wallet.
      </p>
      <Amount {...field} />
      <Field label="Ends on" hint="At midnight, UTC.">
        <Input type="date" required value={until} onChange={(event) => setUntil(event.target.value)} />
      </Field>
      <Reason label="Note" value={note} onChange={setNote} required={false} />
    </Frame>
  );
}

function Refund({ workspace: { slug, name, currency }, onClose }: Props) {
  const [request, setRequest] = useState("");
  const { amount, text, field } = useAmount(currency);
  const [reason, setReason] = useState("");
  const reference = useReference();
  const refund = useManageMutation("manageRefund", {
    onDone: (booked) => {
      toast(`${moneyText(booked.amount, booked.currency, "exact")} went back into the wallet of ${name}.`);
      onClose();
    },
  });
  const body = { request: request.trim(), reference, reason, ...(amount === "" ? {} : { amount }) };
  return (
    <Frame
      title={`Refund a request of ${name}`}
      action={text === undefined ? "Refund" : `Refund ${text}`}
      onClose={onClose}
      onSubmit={() => refund.mutate({ params: { workspace: slug }, body })}
      busy={refund.isPending}
      error={refund.error}
    >
      <Field label="Request id" hint="Of a request that was charged; it stands in the log of the workspace.">
        <Input required mono value={request} onChange={(event) => setRequest(event.target.value)} />
      </Field>
      <Amount {...field} mayBeAll />
      <Reason label="Reason" value={reason} onChange={setReason} />
    </Frame>
  );
}

function Adjustment({ workspace: { slug, name, currency, balance }, onClose }: Props) {
  const [direction, setDirection] = useState<"up" | "down">("down");
  const { amount, text, field } = useAmount(currency);
  const [reason, setReason] = useState("");
  const reference = useReference();
  const adjust = useManageMutation("manageAdjustWallet", {
    onDone: (booked) => {
      toast(`The balance of ${name} is ${moneyText(booked.wallet.balance, booked.currency, "balance")} now.`);
      onClose();
    },
  });
  return (
    <Frame
      title={`Correct the balance of ${name}`}
      action={text === undefined ? "Correct" : direction === "up" ? `Put ${text} in` : `Take ${text} out`}
      onClose={onClose}
      onSubmit={() => adjust.mutate({ params: { workspace: slug }, body: { direction, amount, reference, reason } })}
      busy={adjust.isPending}
      error={adjust.error}
    >
      <p className="text-soft">
        The balance is {moneyText(balance, currency, "balance")} now. It never goes below zero.
      </p>
      <Field label="Direction">
        <Select
          value={direction}
          onChange={(event) => setDirection(event.target.value === "up" ? "up" : "down")}
          options={[
            { value: "down", label: "Take out" },
            { value: "up", label: "Put in" },
          ]}
        />
      </Field>
      <Amount {...field} />
      <Reason label="Reason" value={reason} onChange={setReason} />
    </Frame>
  );
}

/** People say percent, the API says shares. */
function shareOf(percent: string): string {
  return String(Number((Number(percent) / 100).toFixed(6)));
}

function Margin({ workspace: { slug, name, margin: own }, onClose }: Props) {
  const [percent, setPercent] = useState(own === null ? "" : String(Number((Number(own) * 100).toFixed(4))));
  const usual = useManage("manageShowMargin", { params: { workspace: slug } }).data?.usual;
  const put = useManageMutation("managePutMargin", {
    onDone: ({ margin }) => {
      toast(`Prices of ${name} have a margin of ${percentText(Number(margin))} from the next request on.`);
      onClose();
    },
  });
  return (
    <Frame
      title={`Margin of ${name}`}
      action="Set the margin"
      onClose={onClose}
      onSubmit={() =>
        put.mutate({ params: { workspace: slug }, body: { margin: percent === "" ? null : shareOf(percent) } })
      }
      busy={put.isPending}
      error={put.error}
    >
      <p className="text-soft">What is added to providers' prices. It holds from the next request on.</p>
      <Field
        label="Percent"
        optional
        hint={usual === undefined ? "Empty: the usual one." : `Empty: the usual one, ${percentText(Number(usual))}.`}
      >
        <Input
          type="number"
          step="any"
          min={-100}
          max={1000}
          value={percent}
          onChange={(event) => setPercent(event.target.value)}
          className="figures"
        />
      </Field>
    </Frame>
  );
}
