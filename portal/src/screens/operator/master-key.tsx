import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Callout, PageHeader, Progress, Stack, Stat, StatRow } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { Num, Time, Unknown } from "../../ui/values.tsx";

type MasterKeyView = ApiResponse<"manageMasterKey">;
type MasterKey = MasterKeyView["keys"][number];

const ROLES: Readonly<Record<MasterKey["role"], { readonly tone: Tone; readonly description: string }>> = {
  current: { tone: "good", description: "Current" },
  previous: { tone: "neutral", description: "Previous (decrypt only)" },
  missing: { tone: "bad", description: "Missing" },
  unknown: { tone: "warn", description: "Unknown" },
};

const COLUMNS: readonly Column<MasterKey>[] = [
  {
    id: "id",
    header: "Key",
    cell: (row) => (row.id === null ? <Unknown /> : <code className="font-mono text-[0.8125rem]">{row.id}</code>),
  },
  {
    id: "role",
    header: "Role",
    cell: (row) => <Badge tone={ROLES[row.role].tone}>{ROLES[row.role].description}</Badge>,
  },
  { id: "data_keys", header: "Wrapped data keys", align: "end", cell: (row) => <Num value={row.data_keys} /> },
];

const RUNNING_MS = 1000;

export function Screen() {
  const [isConfirming, setIsConfirming] = useState(false);
  const [isRunning, setIsRunning] = useState(false);
  const query = useManage("manageMasterKey", {}, isRunning ? { refetchMs: RUNNING_MS } : {});
  const rotate = useManageMutation("manageRotateMasterKey", {
    onDone: ({ state }) => {
      setIsConfirming(false);
      setIsRunning(state === "running");
      toast(state === "idle" ? "All data keys are wrapped with the current master key." : "Rotation started");
    },
  });
  const view = query.data;
  return (
    <>
      <PageHeader
        title="Master key"
        about="Wraps the data keys that encrypt captured content, stored responses and provider keys."
        actions={
          <>
            <ApiButton
              calls={[
                { id: "manageMasterKey", args: {}, description: "Show master keys" },
                { id: "manageRotateMasterKey", args: {}, description: "Rotate the master key" },
              ]}
            />
            <Button
              variant="primary"
              icon="refresh"
              onClick={() => setIsConfirming(true)}
              disabled={view === undefined}
            >
              Rotate master key
            </Button>
          </>
        }
      />
      {query.error !== null && view === undefined ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : view === undefined ? (
        <SkeletonLines count={6} />
      ) : (
        <MasterKeyStatus view={view} />
      )}
      <Confirm
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        onConfirm={() => rotate.mutate({})}
        title="Rotate master key?"
        action="Rotate master key"
        busy={rotate.isPending}
        error={rotate.error}
      >
        <p>
          {view?.source === "file"
            ? "The gateway creates a new key in its data directory and rewraps all data keys with it."
            : "All data keys are rewrapped with GATEWAY_MASTER_KEY. Set GATEWAY_MASTER_KEY_PREVIOUS to the old key before you change it."}
        </p>
        <p>
          Requests continue during the rotation, and stored data is not re-encrypted. Back up the new key afterwards.
        </p>
      </Confirm>
    </>
  );
}

function MasterKeyStatus({ view }: { readonly view: MasterKeyView }) {
  const total = view.rewrapped + view.remaining;
  const states = { idle: "Idle", running: "Rotating", failed: "Failed" } as const;
  return (
    <Stack>
      <StatRow>
        <Stat
          label="Status"
          value={states[view.state]}
          tone={view.state === "failed" ? "bad" : view.state === "idle" ? "good" : "warn"}
          note={
            <>
              Last run <Time at={view.ended_at ?? view.started_at} />
            </>
          }
        />
        <Stat
          label="Source"
          value={view.source === "file" ? "File" : "Setting"}
          note={view.source === "file" ? "master-key in DATA_DIR" : "GATEWAY_MASTER_KEY"}
        />
        <Stat
          label="To rewrap"
          value={<Num value={view.remaining} />}
          tone={view.remaining > 0 ? "warn" : undefined}
          note="data keys"
        />
      </StatRow>
      {view.problem !== null && (
        <Callout tone="bad" title="Last rotation failed">
          {view.problem}
        </Callout>
      )}
      {view.state === "running" && (
        <Progress share={total === 0 ? 0 : view.rewrapped / total} label="Rewrapped data keys" />
      )}
      <Table
        label="Master keys"
        columns={COLUMNS}
        rows={view.keys}
        keyOf={(row) => row.id ?? row.role}
        empty={
          <EmptyState
            icon="lock"
            title="No data keys yet"
            hint="The first captured request, stored response or provider key creates a data key."
          />
        }
      />
    </Stack>
  );
}
