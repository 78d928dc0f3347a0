import type { Row } from "../../api/client.ts";
import { usePages } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";
import { useWorkspace } from "../../url-state.ts";

type Delivery = Row<"manageListAlertDeliveries">;

const REFETCH_MS = 15_000;

export function Deliveries() {
  const { workspace } = useWorkspace();
  const deliveries = usePages(
    "manageListAlertDeliveries",
    { params: { workspace }, query: { limit: 50 } },
    { refetchMs: REFETCH_MS },
  );
  return (
    <Table
      label="Deliveries"
      columns={COLUMNS}
      rows={deliveries.rows}
      keyOf={({ id }) => id}
      query={deliveries}
      empty={
        <EmptyState
          icon="bell"
          title="No alerts sent yet"
          hint="Alerts are listed for 30 days, once per recipient. Test alerts are not listed."
        />
      }
    />
  );
}

const STATES = {
  waiting: { label: "Pending", tone: "warn" },
  delivered: { label: "Delivered", tone: "good" },
  failed: { label: "Failed", tone: "bad" },
} as const;

const COLUMNS: readonly Column<Delivery>[] = [
  {
    id: "title",
    header: "Alert",
    sortValue: ({ title }) => title,
    cell: ({ title }) => <span className="break-words">{title}</span>,
  },
  {
    id: "target",
    header: "Recipient",
    sortValue: ({ target }) => target,
    cell: ({ channel, target }) => (
      <span className="break-all">
        <span className="text-soft">{channel === "mail" ? "Email" : "Webhook"}</span> {target}
      </span>
    ),
  },
  {
    id: "state",
    header: "Status",
    sortValue: ({ state }) => STATES[state].label,
    cell: ({ state }) => (
      <Badge tone={STATES[state].tone} dot={state === "waiting"}>
        {STATES[state].label}
      </Badge>
    ),
  },
  {
    id: "attempts",
    header: "Attempts",
    sortValue: ({ attempts }) => attempts,
    align: "end",
    cell: ({ attempts }) => attempts,
  },
  {
    id: "error",
    header: "Last error",
    cell: ({ last_error, next_attempt_at }) => (
      <span className="break-words">
        {last_error ?? <span className="text-faint">None</span>}
        {next_attempt_at !== null && (
          <span className="block text-xs text-soft">
            Next attempt <Time at={next_attempt_at} />
          </span>
        )}
      </span>
    ),
  },
  {
    id: "at",
    header: "Created",
    sortValue: ({ created_at }) => created_at,
    align: "end",
    cell: ({ created_at }) => <Time at={created_at} />,
  },
];
