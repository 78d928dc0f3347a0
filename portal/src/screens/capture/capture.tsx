import { useState } from "react";
import { useManage, useManageMutation, usePages } from "../../api/hooks.ts";
import { bytesText, counted } from "../../format/number.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Callout, PageHeader, Stack } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { UntrustedText } from "../../ui/untrusted-text.tsx";
import { Num, Time } from "../../ui/values.tsx";
import { useSearchParam, useWorkspace } from "../../url-state.ts";
import { type CaptureWindow, OpenWindowCard, ScopeText } from "./open-window-card.tsx";
import { OpenWindowDialog } from "./open-window-dialog.tsx";

const REFETCH_MS = 4000;

export function Screen() {
  const { workspace, at } = useWorkspace();
  const [isNew, setIsNew] = useSearchParam("new");
  const query = { workspace, limit: 50 };
  const windows = usePages("manageListCaptures", { query }, { refetchMs: REFETCH_MS });
  const policy = useManage("manageShowPolicy", { params: { workspace } });
  const requiresZeroRetention = policy.data?.zero_data_retention === true;
  const open = windows.rows.filter(({ state }) => state === "open");
  return (
    <>
      <PageHeader
        title="Capture windows"
        about="Store encrypted request and response content for a limited time to debug a problem. Outside a window, no content is stored."
        actions={
          <>
            <ApiButton
              calls={[
                { id: "manageListCaptures", args: { query } },
                { id: "manageOpenCapture", args: { params: { workspace }, body: { minutes: 30 } } },
              ]}
            />
            {!requiresZeroRetention && (
              <Button variant="primary" icon="record" onClick={() => setIsNew("1")}>
                Open window
              </Button>
            )}
          </>
        }
      />
      <Stack>
        {requiresZeroRetention && (
          <Callout
            tone="warn"
            title="Capture is not allowed"
            action={
              <LinkButton size="small" to={at("policy")}>
                View policy
              </LinkButton>
            }
          >
            This workspace's policy requires zero data retention, which applies to the gateway too. To open a capture
            window, change the policy first.
          </Callout>
        )}
        {open.map((window) => (
          <OpenWindowCard key={window.id} window={window} />
        ))}
        <Table
          label="Capture windows"
          columns={COLUMNS}
          rows={windows.rows}
          keyOf={({ id }) => id}
          query={windows}
          empty={
            <EmptyState
              icon="record"
              title="No capture windows yet"
              hint={
                requiresZeroRetention
                  ? "Zero data retention does not allow them."
                  : "Open a window, repeat the failing request, then view its content under Requests."
              }
            />
          }
        />
      </Stack>
      <OpenWindowDialog open={isNew === "1" && !requiresZeroRetention} onClose={() => setIsNew("")} />
    </>
  );
}

const COLUMNS: readonly Column<CaptureWindow>[] = [
  {
    id: "opened",
    header: "Opened",
    sortValue: (row) => row.opened_at,
    cell: (row) => (
      <span className="grid">
        <Time at={row.opened_at} as="short" />
        <span className="text-xs font-normal text-soft">
          by <UntrustedText text={row.opened_by} className="max-w-40" />
        </span>
      </span>
    ),
  },
  {
    id: "state",
    header: "Status",
    sortValue: (row) => row.state,
    cell: (row) => <WindowState window={row} />,
  },
  { id: "scope", header: "Scope", className: "md:min-w-36", cell: (row) => <ScopeText window={row} /> },
  {
    id: "reason",
    header: "Reason",
    className: "md:min-w-40",
    cell: (row) => <UntrustedText text={row.reason} wrap />,
  },
  {
    id: "items",
    header: "Requests",
    sortValue: (row) => row.items,
    align: "end",
    cell: (row) => (
      <span className="grid justify-items-end">
        <Num value={row.items} />
        {row.bytes > 0 && <span className="text-xs text-soft">{bytesText(row.bytes)}</span>}
      </span>
    ),
  },
  { id: "retention", header: "Retention", align: "end", cell: (row) => row.retention },
  {
    id: "actions",
    header: <span className="sr-only">Actions</span>,
    align: "end",
    cell: (row) => <Purge window={row} />,
  },
];

function WindowState({ window }: { readonly window: CaptureWindow }) {
  if (window.state === "open") {
    return (
      <Badge tone="bad" dot>
        Open
      </Badge>
    );
  }
  return window.purged_at === null ? <Badge>Closed</Badge> : <Badge tone="info">Purged</Badge>;
}

function Purge({ window }: { readonly window: CaptureWindow }) {
  const [isConfirming, setIsConfirming] = useState(false);
  const purge = useManageMutation("manageCloseCapture", {
    stale: ["manageListCaptures"],
    onDone: ({ purged }) => {
      setIsConfirming(false);
      toast(`Content of ${counted(purged, "request")} deleted`);
    },
  });
  if (window.purged_at !== null || (window.items === 0 && window.state !== "open")) return null;
  return (
    <>
      <Button size="small" variant="danger" icon="trash" onClick={() => setIsConfirming(true)}>
        Purge
      </Button>
      <Confirm
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        onConfirm={() => purge.mutate({ params: { id: window.id }, body: { purge: true } })}
        title="Purge captured content?"
        action="Purge content"
        danger
        busy={purge.isPending}
        error={purge.error}
      >
        <p>
          The content of {counted(window.items, "request")} is deleted immediately and can't be restored
          {window.state === "open" ? "; the window is also closed" : ""}. The requests stay in the log.
        </p>
      </Confirm>
    </>
  );
}
