import { useMemo, useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { usePermissions } from "../../api/permissions.ts";
import { decimalOf } from "../../format/decimal.ts";
import { moneyText } from "../../format/money.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { DecimalInput } from "../../ui/decimal-input.tsx";
import { Dialog, FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Callout, KeyValue } from "../../ui/layout.tsx";
import { ExternalLink } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { useWorkspace } from "../../url-state.ts";
import { Credit } from "../operator/booking-dialogs.tsx";

const PAYMENT_GUIDE = "/docs/guides/wallet#external-payments";

export type TopUpOptions = ApiResponse<"manageShowTopUp">;
type Order = ApiResponse<"manageShowOrder">;

type Props = {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly topUpOptions: TopUpOptions | undefined;
  readonly wallet: ApiResponse<"manageShowWallet"> | undefined;
};

/** Creates a payment order. Without online payment, the operator books funds here and others learn whom to ask. */
export function AddFunds({ open, onClose, topUpOptions, wallet }: Props) {
  const [orderId, setOrderId] = useState<string>();
  const { workspace } = useWorkspace();
  const { isOperator } = usePermissions(workspace);
  const name = useManage("manageShowWorkspace", { params: { workspace } }).data?.name;
  const close = () => {
    setOrderId(undefined);
    onClose();
  };
  if (isOperator && topUpOptions?.ways.length === 0 && wallet !== undefined)
    return open ? (
      <Credit workspace={{ slug: workspace, name: name ?? workspace, ...wallet }} onClose={close}>
        <PaymentSetup />
      </Credit>
    ) : null;
  if (topUpOptions === undefined || topUpOptions.ways.length === 0)
    return (
      <Dialog open={open} onClose={close} title="Add funds">
        {topUpOptions === undefined ? <SkeletonLines /> : <NoOnlinePayment topUpOptions={topUpOptions} />}
      </Dialog>
    );
  if (orderId !== undefined)
    return (
      <Dialog open={open} onClose={close} title="Pay order" footer={<Button onClick={close}>Close</Button>}>
        <OpenOrder id={orderId} />
      </Dialog>
    );
  return (
    <OrderForm open={open} onClose={close} topUpOptions={topUpOptions} onCreated={(order) => setOrderId(order.id)} />
  );
}

function PaymentSetup() {
  return (
    <p className="text-xs text-soft">
      Online payment isn't set up.{" "}
      <ExternalLink href={PAYMENT_GUIDE} target="_blank">
        Set up online payment
      </ExternalLink>
    </p>
  );
}

/** `onTopUp` opens the booking form of operators. */
export function NoOnlinePayment({
  topUpOptions,
  onTopUp,
}: {
  readonly topUpOptions: TopUpOptions;
  readonly onTopUp?: (() => void) | undefined;
}) {
  const { workspace } = useWorkspace();
  if (usePermissions(workspace).isOperator && onTopUp !== undefined)
    return (
      <div className="grid justify-items-start gap-3">
        <Button variant="primary" onClick={onTopUp}>
          Add funds
        </Button>
        <PaymentSetup />
      </div>
    );
  return (
    <div className="grid gap-3">
      <p>
        Online payment isn't set up. The operator of this gateway adds funds manually.{" "}
        {topUpOptions.contact !== null && " Contact the operator:"}
      </p>
      {topUpOptions.contact !== null && <Contact text={topUpOptions.contact} />}
      <p className="text-soft">Command for the operator:</p>
      <CodeBlock label="For the operator" code={`bin/gateway wallet credit ${workspace} 50.00 --note "Top-up"`} />
      <p className="text-xs text-soft">
        <ExternalLink href={PAYMENT_GUIDE} target="_blank">
          How the operator sets up online payment
        </ExternalLink>
      </p>
    </div>
  );
}

/** Email addresses and URLs become links. */
function Contact({ text }: { readonly text: string }) {
  const href = /^https?:\/\/\S+$/.test(text) ? text : /^[^\s@]+@[^\s@]+$/.test(text) ? `mailto:${text}` : undefined;
  if (href === undefined) return <p className="font-medium">{text}</p>;
  return (
    <p>
      <a href={href} rel="noreferrer" className="font-medium text-accent underline underline-offset-2">
        {text}
      </a>
    </p>
  );
}

const AMOUNTS = ["10.00", "25.00", "50.00", "100.00"] as const;

type FormProps = Pick<Props, "open" | "onClose"> & {
  readonly topUpOptions: TopUpOptions;
  readonly onCreated: (order: Order) => void;
};

function OrderForm({ open, onClose, topUpOptions, onCreated }: FormProps) {
  const { workspace } = useWorkspace();
  const { currency } = topUpOptions;
  const [amount, setAmount] = useState("25.00");
  const [adapter, setAdapter] = useState(topUpOptions.ways[0]?.adapter ?? "");
  // An idempotency reference per amount: submitting twice creates one order.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a different amount is a different order
  const reference = useMemo(() => `portal-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`, [amount, open]);
  const create = useManageMutation("manageCreateOrder", { onDone: onCreated, stale: ["manageListOrders"] });
  const { param, message } = create.error ?? {};
  const isAmountError = param === "amount";
  const submit = () =>
    create.mutate({
      params: { workspace },
      body: { amount: decimalOf(amount) ?? amount, currency, reference, adapter },
    });
  return (
    <FormDialog
      open={open}
      onClose={onClose}
      title="Add funds"
      action="Create order"
      busy={create.isPending}
      onSubmit={submit}
    >
      <Field
        label={`Amount (${currency})`}
        hint="Funds are added when the payment arrives."
        error={isAmountError ? message : undefined}
      >
        <DecimalInput value={amount} onChange={setAmount} />
      </Field>
      <div className="flex flex-wrap gap-2">
        {AMOUNTS.map((one) => (
          <Button key={one} size="small" onClick={() => setAmount(one)} aria-pressed={amount === one}>
            {moneyText(one, currency)}
          </Button>
        ))}
      </div>
      {topUpOptions.ways.length > 1 && (
        <Field label="Payment method">
          <Select
            value={adapter}
            onChange={(event) => setAdapter(event.target.value)}
            options={topUpOptions.ways.map((way) => ({ value: way.adapter, label: adapterName(way.adapter) }))}
          />
        </Field>
      )}
      {!isAmountError && <ErrorNote error={create.error} />}
    </FormDialog>
  );
}

export function adapterName(adapter: string): string {
  return adapter === "stripe" ? "Stripe" : adapter === "webhook" ? "Operator's shop" : adapter;
}

const REFETCH_MS = 4000;

/** An open order, polled until it is paid. */
function OpenOrder({ id }: { readonly id: string }) {
  const { workspace } = useWorkspace();
  const query = useManage("manageShowOrder", { params: { workspace, id } }, { refetchMs: REFETCH_MS });
  const order = query.data;
  if (order === undefined) return query.error === null ? <SkeletonLines /> : <ErrorNote error={query.error} />;
  if (order.state === "paid")
    return (
      <Callout tone="good" title="Paid">
        {moneyText(order.amount, order.currency)} was added to the wallet.
      </Callout>
    );
  return (
    <div className="grid gap-4">
      <KeyValue
        rows={[
          { name: "Amount", value: moneyText(order.amount, order.currency) },
          {
            name: "Order",
            value: (
              <span className="flex items-center gap-1 font-mono text-xs break-all">
                {order.id}
                <CopyButton text={order.id} label="Copy order ID" />
              </span>
            ),
          },
        ]}
      />
      <PayLink order={order} />
      <p role="status" className="text-soft">
        Waiting for payment. You can close this dialog; the order stays in the list.
      </p>
    </div>
  );
}

/** The payment page, or payment instructions. */
function PayLink({ order }: { readonly order: Pick<Order, "pay_url" | "adapter"> }) {
  if (order.pay_url === null) return <p>Pay exactly this amount and include the order ID as the reference.</p>;
  return (
    <a href={order.pay_url} target="_blank" rel="noreferrer" className={buttonClass("primary")}>
      <Icon name="out" />
      Open payment page
    </a>
  );
}
