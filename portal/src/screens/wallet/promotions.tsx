import { useWorkspace } from "../../address.ts";
import type { Row } from "../../api/client.ts";
import { usePages } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Money, Time } from "../../ui/values.tsx";

type Promotion = Row<"manageListPromotions">;

/** Credit that was given and ends: what is left of it, and until when. */
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
          hint="Credit that the operator gives is listed here with its date. It is spent before money that was paid in."
        />
      }
    />
  );
}

const STATES = {
  running: { label: "Running", tone: "good" },
  ending: { label: "Ending", tone: "warn" },
  ended: { label: "Ended", tone: "neutral" },
} as const;

const COLUMNS: readonly Column<Promotion>[] = [
  {
    id: "state",
    header: "State",
    cell: ({ state }) => <Badge tone={STATES[state].tone}>{STATES[state].label}</Badge>,
  },
  { id: "granted", header: "Given", cell: ({ granted_at }) => <Time at={granted_at} as="short" /> },
  {
    id: "ends",
    header: "Ends",
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
    header: "Given",
    align: "end",
    cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
  },
  {
    id: "left",
    header: "Left",
    align: "end",
    cell: ({ left, currency }) => <Money amount={left} currency={currency} as="balance" className="font-medium" />,
  },
  {
    id: "expired",
    header: "Ended unused",
    align: "end",
    cell: ({ expired, currency }) => <Money amount={expired} currency={currency} />,
  },
];
