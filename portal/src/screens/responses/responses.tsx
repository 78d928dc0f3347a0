import { useState } from "react";
import { useWorkspace } from "../../address.ts";
import type { Row } from "../../api/client.ts";
import { useManage, useManageMutation, usePages } from "../../api/hooks.ts";
import { usePermissions } from "../../api/powers.ts";
import { bytesText } from "../../format/number.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Card, PageHeader, Progress, Stack } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Logged } from "../../ui/logged.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";

type Stored = Row<"manageListResponses">;

const TONES: Readonly<Record<string, Tone>> = {
  completed: "good",
  in_progress: "info",
  queued: "info",
  failed: "bad",
  incomplete: "warn",
  cancelled: "neutral",
};

/** Responses that callers asked to be kept: that they are there, never what is in them. */
export function Screen() {
  const { workspace, at } = useWorkspace();
  const { isAdmin } = usePermissions(workspace);
  const params = { workspace };
  const stored = usePages("manageListResponses", { params, query: { limit: 50 } });
  const usage = useManage("manageListResponses", { params, query: { limit: 1 } });
  return (
    <>
      <PageHeader
        title="Stored responses"
        about="Answers of the Responses API that callers asked to be kept, so that a conversation can go on. Their content is not shown here."
        actions={
          <>
            <CallButton calls={[{ id: "manageListResponses", args: { params } }]} />
            {isAdmin && stored.rows.length > 0 && <PurgeAll />}
          </>
        }
      />
      <Stack>
        {usage.data !== undefined && <Room used={usage.data.used_bytes} most={usage.data.max_bytes} />}
        <Table
          label="Stored responses"
          columns={columnsFor(isAdmin)}
          rows={stored.rows}
          keyOf={({ id }) => id}
          query={stored}
          empty={
            <EmptyState
              icon="scroll"
              title="No response is stored"
              hint="A call of the Responses API with store: true keeps its answer until its time is over."
            >
              <LinkButton to={at("connect")}>See how to connect</LinkButton>
            </EmptyState>
          }
        />
      </Stack>
    </>
  );
}

function Room({ used, most }: { readonly used: number; readonly most: number }) {
  const share = most === 0 ? 0 : used / most;
  return (
    <Card>
      <div className="grid gap-2">
        <p>
          {bytesText(used)} of {bytesText(most)} used
        </p>
        <Progress
          share={share}
          label="Space that stored responses take"
          tone={share > 0.9 ? "bad" : share > 0.7 ? "warn" : "accent"}
        />
      </div>
    </Card>
  );
}

function columnsFor(isAdmin: boolean): readonly Column<Stored>[] {
  return [
    { id: "id", header: "Response", cell: (row) => <Logged text={row.id} mono className="max-w-80" /> },
    { id: "model", header: "Model", cell: (row) => <Logged text={row.model} className="max-w-56" /> },
    {
      id: "status",
      header: "Status",
      cell: (row) => (
        <span className="inline-flex gap-1.5">
          <Badge tone={TONES[row.status] ?? "neutral"}>{row.status.replaceAll("_", " ")}</Badge>
          {row.background && <Badge>background</Badge>}
        </span>
      ),
    },
    { id: "created", header: "Stored", cell: (row) => <Time at={row.created_at} /> },
    { id: "expires", header: "Removed", cell: (row) => <Time at={row.expires_at} /> },
    ...(isAdmin
      ? [
          {
            id: "actions",
            header: <span className="sr-only">Actions</span>,
            align: "end" as const,
            cell: (row: Stored) => <Delete id={row.id} />,
          },
        ]
      : []),
  ];
}

function Delete({ id }: { readonly id: string }) {
  const { workspace } = useWorkspace();
  const [isAsking, setIsAsking] = useState(false);
  const remove = useManageMutation("manageDeleteResponse", {
    stale: ["manageListResponses"],
    onDone: () => {
      setIsAsking(false);
      toast("The response is removed");
    },
  });
  return (
    <>
      <Button size="small" look="danger" icon="trash" onClick={() => setIsAsking(true)}>
        Delete
      </Button>
      <Confirm
        open={isAsking}
        onClose={() => setIsAsking(false)}
        onConfirm={() => remove.mutate({ params: { workspace, id } })}
        title="Delete this response?"
        action="Delete the response"
        danger
        busy={remove.isPending}
        error={remove.error}
      >
        <p>Conversations cannot go on from it any more. One that is still being made is stopped.</p>
      </Confirm>
    </>
  );
}

function PurgeAll() {
  const { workspace } = useWorkspace();
  const [isAsking, setIsAsking] = useState(false);
  const purge = useManageMutation("managePurgeResponses", {
    stale: ["manageListResponses"],
    onDone: ({ deleted }) => {
      setIsAsking(false);
      toast(`${deleted} ${deleted === 1 ? "response is" : "responses are"} removed`);
    },
  });
  return (
    <>
      <Button look="danger" icon="trash" onClick={() => setIsAsking(true)}>
        Delete all
      </Button>
      <Confirm
        open={isAsking}
        onClose={() => setIsAsking(false)}
        onConfirm={() => purge.mutate({ params: { workspace } })}
        title="Delete all stored responses?"
        action="Delete all of them"
        danger
        name={workspace}
        busy={purge.isPending}
        error={purge.error}
      >
        <p>
          Every stored response of this workspace is removed and cannot be brought back. Work in the background is
          stopped.
        </p>
      </Confirm>
    </>
  );
}
