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
import type { WorkspaceSummary } from "./rows.ts";

export type BookingKind = "credit" | "promotion" | "refund" | "adjustment" | "margin";

type Props = { readonly workspace: WorkspaceSummary; readonly onClose: () => void };

const DIALOGS = {
  credit: Credit,
  promotion: Promotion,
  refund: Refund,
  adjustment: Adjustment,
  margin: Margin,
} as const;

/** Manual bookings by an operator. */
export function BookingDialog({ kind, ...props }: Props & { readonly kind: BookingKind }) {
  const Dialog = DIALOGS[kind];
  return <Dialog {...props} />;
}

/** An idempotency reference: submitting the same dialog twice books once. */
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

type BookingFormProps = {
  readonly title: string;
  readonly action: string;
  readonly onClose: () => void;
  readonly onSubmit: () => void;
  readonly busy: boolean;
  readonly error: ApiError | null;
  readonly children: ReactNode;
};

function BookingForm({ title, action, onClose, onSubmit, busy, error, children }: BookingFormProps) {
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
  /** Optional; empty refunds the full charge. */
  readonly isFullByDefault?: boolean | undefined;
};

function Amount({ currency, value, onChange, isFullByDefault = false }: AmountProps) {
  return (
    <Field
      label={`Amount (${currency})`}
      optional={isFullByDefault}
      hint={isFullByDefault ? "Leave empty to refund the full charge." : undefined}
    >
      <DecimalInput empty={isFullByDefault ? "Full charge" : undefined} value={value} onChange={onChange} />
    </Field>
  );
}

/** The typed amount in API format and as text; no text while it is invalid. */
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
    <Field label={label} optional={!required} hint="Recorded in the ledger and the audit log.">
      <Input required={required} maxLength={500} value={value} onChange={(event) => onChange(event.target.value)} />
    </Field>
  );
}

type CreditProps = {
  readonly workspace: Pick<WorkspaceSummary, "slug" | "name" | "currency" | "balance">;
  readonly onClose: () => void;
  readonly children?: ReactNode;
};

/** Books a payment that the operator received outside the gateway. */
export function Credit({ workspace: { slug, name, currency, balance }, onClose, children }: CreditProps) {
  const { amount, text, field } = useAmount(currency);
  const [note, setNote] = useState("");
  const reference = useReference();
  const credit = useManageMutation("manageCreditWallet", {
    onDone: (booked) => {
      toast(`${moneyText(booked.amount, booked.currency, "exact")} added to ${name}`);
      onClose();
    },
  });
  const body = { amount, id: reference, ...(note === "" ? {} : { note }) };
  return (
    <BookingForm
      title={`Add funds to ${name}`}
      action={text === undefined ? "Add funds" : `Add ${text}`}
      onClose={onClose}
      onSubmit={() => credit.mutate({ params: { workspace: slug }, body })}
      busy={credit.isPending}
      error={credit.error}
    >
      <p className="text-soft">Current balance: {moneyText(balance, currency, "balance")}</p>
      <Amount {...field} />
      <Reason label="Note" value={note} onChange={setNote} required={false} />
      {children}
    </BookingForm>
  );
}

function Promotion({ workspace: { slug, name, currency }, onClose }: Props) {
  const { amount, text, field } = useAmount(currency);
  const [until, setUntil] = useState(() => new Date(Date.now() + 90 * DAY_MS).toISOString().slice(0, 10));
  const [note, setNote] = useState("");
  const reference = useReference();
  const grant = useManageMutation("manageGrantPromotion", {
    onDone: (booked) => {
      toast(`${moneyText(booked.amount, booked.currency, "exact")} promotional credit granted to ${name}`);
      onClose();
    },
  });
  const body = { amount, expires_at: until, reference, ...(note === "" ? {} : { note }) };
  return (
    <BookingForm
      title={`Grant promotional credit to ${name}`}
      action={text === undefined ? "Grant credit" : `Grant ${text}`}
      onClose={onClose}
      onSubmit={() => grant.mutate({ params: { workspace: slug }, body })}
      busy={grant.isPending}
      error={grant.error}
    >
      <p className="text-soft">Promotional credit is spent before paid funds. Unused credit expires.</p>
      <Amount {...field} />
      <Field label="Expires on" hint="At midnight UTC.">
        <Input type="date" required value={until} onChange={(event) => setUntil(event.target.value)} />
      </Field>
      <Reason label="Note" value={note} onChange={setNote} required={false} />
    </BookingForm>
  );
}

function Refund({ workspace: { slug, name, currency }, onClose }: Props) {
  const [request, setRequest] = useState("");
  const { amount, text, field } = useAmount(currency);
  const [reason, setReason] = useState("");
  const reference = useReference();
  const refund = useManageMutation("manageRefund", {
    onDone: (booked) => {
      toast(`${moneyText(booked.amount, booked.currency, "exact")} refunded to ${name}`);
      onClose();
    },
  });
  const body = { request: request.trim(), reference, reason, ...(amount === "" ? {} : { amount }) };
  return (
    <BookingForm
      title={`Refund request of ${name}`}
      action={text === undefined ? "Refund" : `Refund ${text}`}
      onClose={onClose}
      onSubmit={() => refund.mutate({ params: { workspace: slug }, body })}
      busy={refund.isPending}
      error={refund.error}
    >
      <Field label="Request ID" hint="The ID of a charged request from the workspace's log.">
        <Input required mono value={request} onChange={(event) => setRequest(event.target.value)} />
      </Field>
      <Amount {...field} isFullByDefault />
      <Reason label="Reason" value={reason} onChange={setReason} />
    </BookingForm>
  );
}

function Adjustment({ workspace: { slug, name, currency, balance }, onClose }: Props) {
  const [direction, setDirection] = useState<"up" | "down">("down");
  const { amount, text, field } = useAmount(currency);
  const [reason, setReason] = useState("");
  const reference = useReference();
  const adjust = useManageMutation("manageAdjustWallet", {
    onDone: (booked) => {
      toast(`New balance of ${name}: ${moneyText(booked.wallet.balance, booked.currency, "balance")}`);
      onClose();
    },
  });
  return (
    <BookingForm
      title={`Adjust balance of ${name}`}
      action={text === undefined ? "Adjust balance" : direction === "up" ? `Add ${text}` : `Deduct ${text}`}
      onClose={onClose}
      onSubmit={() => adjust.mutate({ params: { workspace: slug }, body: { direction, amount, reference, reason } })}
      busy={adjust.isPending}
      error={adjust.error}
    >
      <p className="text-soft">
        Current balance: {moneyText(balance, currency, "balance")}. The balance can't go below zero.
      </p>
      <Field label="Direction">
        <Select
          value={direction}
          onChange={(event) => setDirection(event.target.value === "up" ? "up" : "down")}
          options={[
            { value: "down", label: "Deduct" },
            { value: "up", label: "Add" },
          ]}
        />
      </Field>
      <Amount {...field} />
      <Reason label="Reason" value={reason} onChange={setReason} />
    </BookingForm>
  );
}

/** The form uses percent, the API a fraction. */
function fractionOf(percent: string): string {
  return String(Number((Number(percent) / 100).toFixed(6)));
}

function Margin({ workspace: { slug, name, margin: own }, onClose }: Props) {
  const [percent, setPercent] = useState(own === null ? "" : String(Number((Number(own) * 100).toFixed(4))));
  const usual = useManage("manageShowMargin", { params: { workspace: slug } }).data?.usual;
  const put = useManageMutation("managePutMargin", {
    onDone: ({ margin }) => {
      toast(`Margin of ${name} set to ${percentText(Number(margin))}`);
      onClose();
    },
  });
  return (
    <BookingForm
      title={`Set margin of ${name}`}
      action="Set margin"
      onClose={onClose}
      onSubmit={() =>
        put.mutate({ params: { workspace: slug }, body: { margin: percent === "" ? null : fractionOf(percent) } })
      }
      busy={put.isPending}
      error={put.error}
    >
      <p className="text-soft">Surcharge on provider prices. Applies from the next request.</p>
      <Field
        label="Margin (%)"
        optional
        hint={
          usual === undefined
            ? "Leave empty for the default."
            : `Leave empty for the default, ${percentText(Number(usual))}.`
        }
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
    </BookingForm>
  );
}
