import { useState } from "react";
import { useSearchParam, useWorkspace } from "../../address.ts";
import { useChange, useManage, usePages } from "../../api/hooks.ts";
import { bytesText } from "../../format/number.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Callout, PageHeader, Stack } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Logged } from "../../ui/logged.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { Num, Time } from "../../ui/values.tsx";
import { OpenWindow } from "./open-window.tsx";
import { RunningWindow, ScopeText, type Window } from "./running-window.tsx";

const EVERY_MS = 4000;

/** Times in which requests and answers are kept: the only ones. */
export function Screen() {
  const { workspace, at } = useWorkspace();
  const [isNew, setIsNew] = useSearchParam("new");
  const query = { workspace, limit: 50 };
  const windows = usePages("manageListCaptures", { query }, { everyMs: EVERY_MS });
  const policy = useManage("manageShowPolicy", { params: { workspace } });
  const isStrict = policy.data?.zero_data_retention === true;
  const open = windows.rows.filter(({ state }) => state === "open");
  return (
    <>
      <PageHeader
        title="Capture windows"
        about="For a while, what is asked and answered is kept, sealed, so that a fault can be found. Outside of a window no content is kept."
        actions={
          <>
            <CallButton
              calls={[
                { id: "manageListCaptures", args: { query } },
                { id: "manageOpenCapture", args: { params: { workspace }, body: { minutes: 30 } } },
              ]}
            />
            {!isStrict && (
              <Button look="primary" icon="record" onClick={() => setIsNew("1")}>
                Open a window
              </Button>
            )}
          </>
        }
      />
      <Stack>
        {isStrict && (
          <Callout
            tone="warn"
            title="Nothing may be captured here"
            action={
              <LinkButton size="small" to={at("policy")}>
                Open the policy
              </LinkButton>
            }
          >
            The policy of this workspace promises zero data retention, and that includes us: no window can be opened,
            and the server refuses it too. Change the policy first if you really need one.
          </Callout>
        )}
        {open.map((window) => (
          <RunningWindow key={window.id} window={window} />
        ))}
        <Table
          label="Capture windows"
          columns={COLUMNS}
          rows={windows.rows}
          keyOf={({ id }) => id}
          asked={windows}
          empty={
            <EmptyState
              icon="record"
              title="No window was ever opened"
              hint={
                isStrict
                  ? "And none can be, under zero data retention."
                  : "Open one for some minutes, repeat the call that goes wrong, and look at it under Requests."
              }
            />
          }
        />
      </Stack>
      <OpenWindow open={isNew === "1" && !isStrict} onClose={() => setIsNew("")} />
    </>
  );
}

const COLUMNS: readonly Column<Window>[] = [
  {
    id: "opened",
    header: "Opened",
    cell: (row) => (
      <span className="grid">
        <Time at={row.opened_at} as="short" />
        <span className="text-xs font-normal text-soft">
          by <Logged text={row.opened_by} className="max-w-40" />
        </span>
      </span>
    ),
  },
  {
    id: "state",
    header: "State",
    cell: (row) => <WindowState window={row} />,
  },
  { id: "scope", header: "Keeps", className: "md:min-w-36", cell: (row) => <ScopeText window={row} /> },
  {
    id: "reason",
    header: "Why",
    className: "md:min-w-40",
    cell: (row) => <Logged text={row.reason} wrap />,
  },
  {
    id: "items",
    header: "Calls kept",
    align: "end",
    cell: (row) => (
      <span className="grid justify-items-end">
        <Num value={row.items} />
        {row.bytes > 0 && <span className="text-xs text-soft">{bytesText(row.bytes)}</span>}
      </span>
    ),
  },
  { id: "retention", header: "Each for", align: "end", cell: (row) => row.retention },
  {
    id: "actions",
    header: <span className="sr-only">Actions</span>,
    align: "end",
    cell: (row) => <Purge window={row} />,
  },
];

function WindowState({ window }: { readonly window: Window }) {
  if (window.state === "open") {
    return (
      <Badge tone="bad" dot>
        open
      </Badge>
    );
  }
  return window.purged_at === null ? <Badge>closed</Badge> : <Badge tone="info">purged</Badge>;
}

function Purge({ window }: { readonly window: Window }) {
  const [isAsking, setIsAsking] = useState(false);
  const purge = useChange("manageCloseCapture", {
    stale: ["manageListCaptures"],
    done: ({ purged }) => {
      setIsAsking(false);
      toast(`${purged} ${purged === 1 ? "call is" : "calls are"} removed`);
    },
  });
  if (window.purged_at !== null || (window.items === 0 && window.state !== "open")) return null;
  return (
    <>
      <Button size="small" look="danger" icon="trash" onClick={() => setIsAsking(true)}>
        Purge
      </Button>
      <Confirm
        open={isAsking}
        onClose={() => setIsAsking(false)}
        onConfirm={() => purge.mutate({ params: { id: window.id }, body: { purge: true } })}
        title="Remove what was kept?"
        action="Remove it now"
        danger
        busy={purge.isPending}
        error={purge.error}
      >
        <p>
          The content of {window.items} {window.items === 1 ? "call" : "calls"} is removed at once and cannot be brought
          back{window.state === "open" ? "; the window is closed with it" : ""}. The log keeps the calls themselves.
        </p>
      </Confirm>
    </>
  );
}
