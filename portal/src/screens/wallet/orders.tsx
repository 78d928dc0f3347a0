import { useWorkspace } from "../../address.ts";
import type { Row } from "../../api/client.ts";
import { usePages } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Card, Stack } from "../../ui/layout.tsx";
import { OutLink } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Money, Time } from "../../ui/values.tsx";
import { AskOperator, nameOf, type Ways } from "./top-up.tsx";

type Order = Row<"manageListOrders">;

type Props = { readonly ways: Ways | undefined; readonly onTopUp: () => void };

/** What was ordered and paid through payment providers. */
export function Orders({ ways, onTopUp }: Props) {
  const { workspace } = useWorkspace();
  const orders = usePages("manageListOrders", { params: { workspace }, query: { limit: 50 } });
  const canPay = ways !== undefined && ways.ways.length > 0;
  return (
    <Stack>
      {ways !== undefined && !canPay && (
        <Card title="How money gets in">
          <AskOperator ways={ways} />
        </Card>
      )}
      {(canPay || orders.rows.length > 0) && (
        <Table
          label="Payment orders"
          columns={COLUMNS}
          rows={orders.rows}
          keyOf={({ id }) => id}
          query={orders}
          empty={
            <EmptyState
              icon="wallet"
              title="No order yet"
              hint="An order says how much will be paid in. When the payment arrives, it is in the wallet."
            >
              <Button look="primary" onClick={onTopUp}>
                Top up
              </Button>
            </EmptyState>
          }
        />
      )}
    </Stack>
  );
}

const COLUMNS: readonly Column<Order>[] = [
  { id: "when", header: "Made", cell: (order) => <Time at={order.created_at} as="short" /> },
  {
    id: "id",
    header: "Order",
    cell: ({ id }) => (
      <span className="inline-flex items-center gap-1 font-mono text-xs">
        <span className="max-w-44 truncate" title={id}>
          {id}
        </span>
        <CopyButton text={id} label="Copy the order's id" />
      </span>
    ),
  },
  { id: "adapter", header: "Through", cell: ({ adapter }) => nameOf(adapter) },
  {
    id: "state",
    header: "State",
    cell: ({ state }) => <Badge tone={state === "paid" ? "good" : "warn"}>{state === "paid" ? "Paid" : "Open"}</Badge>,
  },
  {
    id: "paid",
    header: "Paid",
    cell: ({ paid_at, pay_url }) =>
      paid_at !== null ? (
        <Time at={paid_at} as="short" />
      ) : pay_url === null ? (
        <span className="text-faint">not yet</span>
      ) : (
        <OutLink href={pay_url} target="_blank">
          Pay now
        </OutLink>
      ),
  },
  {
    id: "amount",
    header: "Amount",
    align: "end",
    cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
  },
];
