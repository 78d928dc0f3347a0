import type { Row } from "../../api/client.ts";
import { usePages } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Card, Stack } from "../../ui/layout.tsx";
import { ExternalLink } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Money, Time } from "../../ui/values.tsx";
import { useWorkspace } from "../../url-state.ts";
import { adapterName, NoOnlinePayment, type TopUpOptions } from "./add-funds.tsx";

type Order = Row<"manageListOrders">;

type Props = { readonly topUpOptions: TopUpOptions | undefined; readonly onTopUp: () => void };

export function Orders({ topUpOptions, onTopUp }: Props) {
  const { workspace } = useWorkspace();
  const orders = usePages("manageListOrders", { params: { workspace }, query: { limit: 50 } });
  const canPay = topUpOptions !== undefined && topUpOptions.ways.length > 0;
  return (
    <Stack>
      {topUpOptions !== undefined && !canPay && (
        <Card title="Add funds">
          <NoOnlinePayment topUpOptions={topUpOptions} onTopUp={onTopUp} />
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
              title="No orders yet"
              hint="Funds are added to the wallet when the payment of an order arrives."
            >
              <Button variant="primary" onClick={onTopUp}>
                Add funds
              </Button>
            </EmptyState>
          }
        />
      )}
    </Stack>
  );
}

const COLUMNS: readonly Column<Order>[] = [
  {
    id: "when",
    header: "Created",
    sortValue: ({ created_at }) => created_at,
    cell: (order) => <Time at={order.created_at} as="short" />,
  },
  {
    id: "id",
    header: "Order",
    cell: ({ id }) => (
      <span className="inline-flex items-center gap-1 font-mono text-xs">
        <span className="max-w-44 truncate" title={id}>
          {id}
        </span>
        <CopyButton text={id} label="Copy order ID" />
      </span>
    ),
  },
  {
    id: "adapter",
    header: "Payment method",
    sortValue: ({ adapter }) => adapterName(adapter),
    cell: ({ adapter }) => adapterName(adapter),
  },
  {
    id: "state",
    header: "Status",
    sortValue: ({ state }) => state,
    cell: ({ state }) => <Badge tone={state === "paid" ? "good" : "warn"}>{state === "paid" ? "Paid" : "Open"}</Badge>,
  },
  {
    id: "paid",
    header: "Paid",
    sortValue: ({ paid_at }) => paid_at,
    cell: ({ paid_at, pay_url }) =>
      paid_at !== null ? (
        <Time at={paid_at} as="short" />
      ) : pay_url === null ? (
        <span className="text-faint">Not paid</span>
      ) : (
        <ExternalLink href={pay_url} target="_blank">
          Pay now
        </ExternalLink>
      ),
  },
  {
    id: "amount",
    header: "Amount",
    sortValue: ({ amount }) => Number(amount),
    align: "end",
    cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
  },
];
