import type { Row } from "../../api/client.ts";
import { durationText } from "../../format/time.ts";
import { Badge } from "../../ui/badge.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Link } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { UntrustedText } from "../../ui/untrusted-text.tsx";
import { Money, Time } from "../../ui/values.tsx";

type Request = Row<"manageListRequests">;

const COLUMNS: readonly Column<Request>[] = [
  {
    id: "model",
    header: "Model",
    phone: "title",
    className: "md:min-w-44",
    cell: ({ model, model_requested }) => (
      <span className="font-mono text-xs break-all">{model ?? model_requested ?? "None"}</span>
    ),
  },
  {
    id: "status",
    header: "Status",
    phone: "line",
    cell: ({ status, error_code }) => (
      <Badge tone={status < 400 ? "good" : status < 500 ? "warn" : "bad"} title={error_code ?? undefined}>
        {status}
      </Badge>
    ),
  },
  {
    id: "key",
    header: "Key",
    phone: "line",
    className: "min-w-0 md:max-w-56",
    cell: ({ key_name, key_id }) => <UntrustedText text={key_name ?? key_id} />,
  },
  {
    id: "took",
    header: "Duration",
    phone: "line",
    align: "end",
    cell: ({ total_ms }) => <span className="figures whitespace-nowrap">{durationText(total_ms)}</span>,
  },
  {
    id: "cost",
    header: "Cost",
    phone: "line",
    align: "end",
    cell: ({ cost, currency }) => <Money amount={cost} currency={currency} as="price" />,
  },
  { id: "at", header: "Time", align: "end", phone: "line", cell: ({ created_at }) => <Time at={created_at} /> },
];

export function RecentRequests({
  requests,
  at,
}: {
  readonly requests: readonly Request[];
  readonly at: (path?: string) => string;
}) {
  return (
    <section aria-labelledby="last-requests" className="grid gap-2">
      <div className="flex items-baseline justify-between gap-4">
        <h2 id="last-requests" className="text-sm">
          Recent requests
        </h2>
        <Link to={at("requests")}>View all</Link>
      </div>
      <Table
        label="Recent requests"
        columns={COLUMNS}
        rows={requests}
        keyOf={({ id }) => id}
        linkOf={({ id }) => at(`requests/${id}`)}
        empty={<EmptyState title="No requests yet" hint="The setup guide shows how to send one." />}
      />
    </section>
  );
}
