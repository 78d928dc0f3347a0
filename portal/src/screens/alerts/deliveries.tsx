import { useWorkspace } from "../../address.ts";
import type { Row } from "../../api/client.ts";
import { usePages } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";

type Delivery = Row<"manageListAlertDeliveries">;

const LOOK_MS = 15_000;

/** What was sent, to whom, and what became of it. */
export function Deliveries() {
  const { workspace } = useWorkspace();
  const deliveries = usePages(
    "manageListAlertDeliveries",
    { params: { workspace }, query: { limit: 50 } },
    { everyMs: LOOK_MS },
  );
  return (
    <Table
      label="Deliveries"
      columns={COLUMNS}
      rows={deliveries.rows}
      keyOf={({ id }) => id}
      asked={deliveries}
      empty={
        <EmptyState
          icon="bell"
          title="Nothing had to be told yet"
          hint="Each alert is listed here for 30 days, once for every receiver. Test alerts are not listed."
        />
      }
    />
  );
}

const STATES = {
  waiting: { label: "Waiting", tone: "warn" },
  delivered: { label: "Delivered", tone: "good" },
  failed: { label: "Given up", tone: "bad" },
} as const;

const COLUMNS: readonly Column<Delivery>[] = [
  { id: "title", header: "Alert", cell: ({ title }) => <span className="break-words">{title}</span> },
  {
    id: "target",
    header: "Receiver",
    cell: ({ channel, target }) => (
      <span className="break-all">
        <span className="text-soft">{channel === "mail" ? "Mail" : "Webhook"}</span> {target}
      </span>
    ),
  },
  {
    id: "state",
    header: "State",
    cell: ({ state }) => (
      <Badge tone={STATES[state].tone} dot={state === "waiting"}>
        {STATES[state].label}
      </Badge>
    ),
  },
  { id: "attempts", header: "Tries", align: "end", cell: ({ attempts }) => attempts },
  {
    id: "error",
    header: "Last error",
    cell: ({ last_error, next_attempt_at }) => (
      <span className="break-words">
        {last_error ?? <span className="text-faint">none</span>}
        {next_attempt_at !== null && (
          <span className="block text-xs text-soft">
            tried again <Time at={next_attempt_at} />
          </span>
        )}
      </span>
    ),
  },
  { id: "at", header: "When", align: "end", cell: ({ created_at }) => <Time at={created_at} /> },
];
