import { useMemo, useState } from "react";
import { useWorkspace } from "../../address.ts";
import type { ApiResponse } from "../../api/client.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { usePermissions } from "../../api/powers.ts";
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
import { LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";

export type Ways = ApiResponse<"manageShowTopUp">;
type Order = ApiResponse<"manageShowOrder">;

type Props = { readonly open: boolean; readonly onClose: () => void; readonly ways: Ways | undefined };

/** Money into the wallet: an order that somebody pays, or whom to ask where nothing can be paid. */
export function TopUp({ open, onClose, ways }: Props) {
  const [orderId, setOrderId] = useState<string>();
  const close = () => {
    setOrderId(undefined);
    onClose();
  };
  if (ways === undefined || ways.ways.length === 0)
    return (
      <Dialog open={open} onClose={close} title="Top up the wallet">
        {ways === undefined ? <SkeletonLines /> : <AskOperator ways={ways} />}
      </Dialog>
    );
  if (orderId !== undefined)
    return (
      <Dialog open={open} onClose={close} title="Pay the order" footer={<Button onClick={close}>Close</Button>}>
        <OpenOrder id={orderId} />
      </Dialog>
    );
  return <OrderForm open={open} onClose={close} ways={ways} onMade={(order) => setOrderId(order.id)} />;
}

export function AskOperator({ ways }: { readonly ways: Ways }) {
  const { workspace } = useWorkspace();
  if (usePermissions(workspace).isOperator)
    return (
      <div className="grid justify-items-start gap-3">
        <p>Nothing can be paid from here: as the operator, you put money into wallets among the workspaces.</p>
        <LinkButton to={`/app/operator/workspaces?${new URLSearchParams({ q: workspace })}`} look="primary">
          Put money in
        </LinkButton>
      </div>
    );
  return (
    <div className="grid gap-3">
      <p>
        Nothing can be paid from here: the operator of this gateway puts money into wallets by hand.
        {ways.contact !== null && " Ask for it here:"}
      </p>
      {ways.contact !== null && <Contact text={ways.contact} />}
      <p className="text-soft">What the operator runs:</p>
      <CodeBlock label="For the operator" code={`bin/gateway wallet credit ${workspace} 50.00 --note "Top-up"`} />
    </div>
  );
}

/** As the operator wrote it: an address of mail or the web is a link, anything else a sentence. */
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

type FormProps = Pick<Props, "open" | "onClose"> & { readonly ways: Ways; readonly onMade: (order: Order) => void };

function OrderForm({ open, onClose, ways, onMade }: FormProps) {
  const { workspace } = useWorkspace();
  const { currency } = ways;
  const [amount, setAmount] = useState("25.00");
  const [adapter, setAdapter] = useState(ways.ways[0]?.adapter ?? "");
  // One for each amount: sent twice, it is one order.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another amount is another order
  const reference = useMemo(() => `portal-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`, [amount, open]);
  const create = useManageMutation("manageCreateOrder", { onDone: onMade, stale: ["manageListOrders"] });
  const { param, message } = create.error ?? {};
  const isOfAmount = param === "amount";
  const submit = () =>
    create.mutate({
      params: { workspace },
      body: { amount: decimalOf(amount) ?? amount, currency, reference, adapter },
    });
  return (
    <FormDialog
      open={open}
      onClose={onClose}
      title="Top up the wallet"
      action="Make an order"
      busy={create.isPending}
      onSubmit={submit}
    >
      <Field
        label={`Amount in ${currency}`}
        hint="The money is in the wallet when the payment has arrived."
        error={isOfAmount ? message : undefined}
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
      {ways.ways.length > 1 && (
        <Field label="Paid through">
          <Select
            value={adapter}
            onChange={(event) => setAdapter(event.target.value)}
            options={ways.ways.map((way) => ({ value: way.adapter, label: nameOf(way.adapter) }))}
          />
        </Field>
      )}
      {!isOfAmount && <ErrorNote error={create.error} />}
    </FormDialog>
  );
}

export function nameOf(adapter: string): string {
  return adapter === "stripe" ? "Stripe" : adapter === "webhook" ? "The operator's shop" : adapter;
}

const LOOK_MS = 4000;

/** An order that waits for its payment; looked at until it is paid. */
function OpenOrder({ id }: { readonly id: string }) {
  const { workspace } = useWorkspace();
  const asked = useManage("manageShowOrder", { params: { workspace, id } }, { refetchMs: LOOK_MS });
  const order = asked.data;
  if (order === undefined) return asked.error === null ? <SkeletonLines /> : <ErrorNote error={asked.error} />;
  if (order.state === "paid")
    return (
      <Callout tone="good" title="Paid">
        {moneyText(order.amount, order.currency)} is in the wallet.
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
                <CopyButton text={order.id} label="Copy the order's id" />
              </span>
            ),
          },
        ]}
      />
      <PayLink order={order} />
      <p role="status" className="text-soft">
        Waiting for the payment. You can close this: the order stays in the list.
      </p>
    </div>
  );
}

/** To the page of the operator, or what to tell whoever is paid. */
function PayLink({ order }: { readonly order: Pick<Order, "pay_url" | "adapter"> }) {
  if (order.pay_url === null)
    return <p>Pay exactly this amount and name the order's id, so that the payment finds the wallet.</p>;
  return (
    <a href={order.pay_url} target="_blank" rel="noreferrer" className={buttonClass("primary")}>
      <Icon name="out" />
      Go to the payment page
    </a>
  );
}
