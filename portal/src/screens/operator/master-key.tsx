import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Callout, PageHeader, Progress, Stack, Stat, StatRow } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { Num, Time, Unknown } from "../../ui/values.tsx";

type View = ApiResponse<"manageMasterKey">;
type Key = View["keys"][number];

const ROLES: Readonly<Record<Key["role"], { readonly tone: Tone; readonly says: string }>> = {
  current: { tone: "good", says: "current" },
  previous: { tone: "neutral", says: "only read with" },
  missing: { tone: "bad", says: "missing: set it again" },
  unknown: { tone: "warn", says: "not known" },
};

const COLUMNS: readonly Column<Key>[] = [
  {
    id: "id",
    header: "Key",
    cell: (row) => (row.id === null ? <Unknown /> : <code className="font-mono text-[0.8125rem]">{row.id}</code>),
  },
  { id: "role", header: "Role", cell: (row) => <Badge tone={ROLES[row.role].tone}>{ROLES[row.role].says}</Badge> },
  { id: "data_keys", header: "Data keys it wraps", align: "end", cell: (row) => <Num value={row.data_keys} /> },
];

const RUNNING_MS = 1000;

/** The key that every secret at rest hangs on. */
export function Screen() {
  const [isAsking, setIsAsking] = useState(false);
  const [isRunning, setIsRunning] = useState(false);
  const asked = useManage("manageMasterKey", {}, isRunning ? { refetchMs: RUNNING_MS } : {});
  const rotate = useManageMutation("manageRotateMasterKey", {
    onDone: ({ state }) => {
      setIsAsking(false);
      setIsRunning(state === "running");
      toast(state === "idle" ? "Every data key is wrapped by the current master key." : "The rotation has begun.");
    },
  });
  const view = asked.data;
  return (
    <>
      <PageHeader
        title="Master key"
        about="It wraps the data keys of workspaces, which seal captured content, stored responses and provider keys."
        actions={
          <>
            <CallButton
              calls={[
                { id: "manageMasterKey", args: {}, says: "Show which master key has wrapped how many data keys" },
                { id: "manageRotateMasterKey", args: {}, says: "Rotate" },
              ]}
            />
            <Button look="primary" icon="refresh" onClick={() => setIsAsking(true)} disabled={view === undefined}>
              Rotate
            </Button>
          </>
        }
      />
      {asked.error !== null && view === undefined ? (
        <ErrorState error={asked.error} onRetry={() => void asked.refetch()} />
      ) : view === undefined ? (
        <SkeletonLines count={6} />
      ) : (
        <Standing view={view} />
      )}
      <Confirm
        open={isAsking}
        onClose={() => setIsAsking(false)}
        onConfirm={() => rotate.mutate({})}
        title="Rotate the master key"
        action="Rotate"
        busy={rotate.isPending}
        error={rotate.error}
      >
        <p>
          {view?.source === "file"
            ? "The gateway makes a new key in its data folder and wraps every data key by it."
            : "Every data key is wrapped by GATEWAY_MASTER_KEY. Put the old key into GATEWAY_MASTER_KEY_PREVIOUS before you change it."}
        </p>
        <p>
          Requests go on meanwhile, and nothing that is stored is sealed again. Make a backup of the new key afterwards.
        </p>
      </Confirm>
    </>
  );
}

function Standing({ view }: { readonly view: View }) {
  const all = view.rewrapped + view.remaining;
  const states = { idle: "Idle", running: "Rotating", failed: "Failed" } as const;
  return (
    <Stack>
      <StatRow>
        <Stat
          label="State"
          value={states[view.state]}
          tone={view.state === "failed" ? "bad" : view.state === "idle" ? "good" : "warn"}
          note={
            <>
              last run <Time at={view.ended_at ?? view.started_at} />
            </>
          }
        />
        <Stat
          label="Where it is"
          value={view.source === "file" ? "File" : "Setting"}
          note={view.source === "file" ? "master-key in DATA_DIR" : "GATEWAY_MASTER_KEY"}
        />
        <Stat
          label="Still under another key"
          value={<Num value={view.remaining} />}
          tone={view.remaining > 0 ? "warn" : undefined}
          note="data keys"
        />
      </StatRow>
      {view.problem !== null && (
        <Callout tone="bad" title="The last run failed">
          {view.problem}
        </Callout>
      )}
      {view.state === "running" && <Progress share={all === 0 ? 0 : view.rewrapped / all} label="Data keys wrapped" />}
      <Table
        label="Master keys"
        columns={COLUMNS}
        rows={view.keys}
        keyOf={(row) => row.id ?? row.role}
        empty={
          <EmptyState
            icon="lock"
            title="Nothing is sealed yet"
            hint="The first captured request, stored response or provider key makes a data key."
          />
        }
      />
    </Stack>
  );
}
