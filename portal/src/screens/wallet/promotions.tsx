import type { Row } from "../../api/client.ts";
import { usePages } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Money, Time } from "../../ui/values.tsx";
import { useWorkspace } from "../../url-state.ts";

type Promotion = Row<"manageListPromotions">;

export function Promotions() {
  const { workspace } = useWorkspace();
  const promotions = usePages("manageListPromotions", { params: { workspace } });
  return (
    <Table
      label="Promotional credit"
      columns={COLUMNS}
      rows={promotions.rows}
      keyOf={({ id }) => id}
      query={promotions}
      empty={
        <EmptyState
          icon="spark"
          title="No promotional credit"
          hint="Credit granted by the operator is listed here. It is spent before paid funds."
        />
      }
    />
  );
}

const STATES = {
  running: { label: "Active", tone: "good" },
  ending: { label: "Expires soon", tone: "warn" },
  ended: { label: "Expired", tone: "neutral" },
} as const;

const COLUMNS: readonly Column<Promotion>[] = [
  {
    id: "state",
    header: "Status",
    sortValue: ({ state }) => STATES[state].label,
    cell: ({ state }) => <Badge tone={STATES[state].tone}>{STATES[state].label}</Badge>,
  },
  {
    id: "granted",
    header: "Granted",
    sortValue: ({ granted_at }) => granted_at,
    cell: ({ granted_at }) => <Time at={granted_at} as="short" />,
  },
  {
    id: "ends",
    header: "Expires",
    sortValue: ({ expires_at }) => expires_at,
    cell: ({ expires_at }) => (
      <span className="inline-flex flex-wrap gap-x-2">
        <Time at={expires_at} as="short" />
        <span className="text-soft">
          <Time at={expires_at} />
        </span>
      </span>
    ),
  },
  {
    id: "amount",
    header: "Amount",
    sortValue: ({ amount }) => Number(amount),
    align: "end",
    cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
  },
  {
    id: "left",
    header: "Remaining",
    sortValue: ({ left }) => Number(left),
    align: "end",
    cell: ({ left, currency }) => <Money amount={left} currency={currency} as="balance" className="font-medium" />,
  },
  {
    id: "expired",
    header: "Expired unused",
    sortValue: ({ expired }) => Number(expired),
    align: "end",
    cell: ({ expired, currency }) => <Money amount={expired} currency={currency} />,
  },
];
