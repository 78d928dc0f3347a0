import { useState } from "react";
import type { Row } from "../../api/client.ts";
import { useManage, useManageMutation, usePages } from "../../api/hooks.ts";
import { usePermissions } from "../../api/permissions.ts";
import { bytesText } from "../../format/number.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Card, PageHeader, Progress, Stack } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { UntrustedText } from "../../ui/untrusted-text.tsx";
import { Time } from "../../ui/values.tsx";
import { useWorkspace } from "../../url-state.ts";

type StoredResponse = Row<"manageListResponses">;

const TONES: Readonly<Record<string, Tone>> = {
  completed: "good",
  in_progress: "info",
  queued: "info",
  failed: "bad",
  incomplete: "warn",
  cancelled: "neutral",
};

/** Lists stored responses without their content. */
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
        about="Responses API results stored with store: true to continue conversations. Their content is not shown."
        actions={
          <>
            <ApiButton calls={[{ id: "manageListResponses", args: { params } }]} />
            {isAdmin && stored.rows.length > 0 && <DeleteAllResponses />}
          </>
        }
      />
      <Stack>
        {usage.data !== undefined && <StorageUsage used={usage.data.used_bytes} max={usage.data.max_bytes} />}
        <Table
          label="Stored responses"
          columns={columnsFor(isAdmin)}
          rows={stored.rows}
          keyOf={({ id }) => id}
          query={stored}
          empty={
            <EmptyState
              icon="scroll"
              title="No stored responses"
              hint="Responses API requests with store: true are stored until their retention ends."
            >
              <LinkButton to={at("connect")}>Connect client</LinkButton>
            </EmptyState>
          }
        />
      </Stack>
    </>
  );
}

function StorageUsage({ used, max }: { readonly used: number; readonly max: number }) {
  const share = max === 0 ? 0 : used / max;
  return (
    <Card>
      <div className="grid gap-2">
        <p>
          {bytesText(used)} of {bytesText(max)} used
        </p>
        <Progress share={share} label="Storage used" tone={share > 0.9 ? "bad" : share > 0.7 ? "warn" : "accent"} />
      </div>
    </Card>
  );
}

function columnsFor(isAdmin: boolean): readonly Column<StoredResponse>[] {
  return [
    { id: "id", header: "Response", cell: (row) => <UntrustedText text={row.id} mono className="max-w-80" /> },
    {
      id: "model",
      header: "Model",
      sortValue: (row) => row.model,
      cell: (row) => <UntrustedText text={row.model} className="max-w-56" />,
    },
    {
      id: "status",
      header: "Status",
      sortValue: (row) => row.status,
      cell: (row) => (
        <span className="inline-flex gap-1.5">
          <Badge tone={TONES[row.status] ?? "neutral"}>{row.status.replaceAll("_", " ")}</Badge>
          {row.background && <Badge>Background</Badge>}
        </span>
      ),
    },
    {
      id: "created",
      header: "Stored",
      sortValue: (row) => row.created_at,
      cell: (row) => <Time at={row.created_at} />,
    },
    {
      id: "expires",
      header: "Expires",
      sortValue: (row) => row.expires_at,
      cell: (row) => <Time at={row.expires_at} />,
    },
    ...(isAdmin
      ? [
          {
            id: "actions",
            header: <span className="sr-only">Actions</span>,
            align: "end" as const,
            cell: (row: StoredResponse) => <DeleteResponse id={row.id} />,
          },
        ]
      : []),
  ];
}

function DeleteResponse({ id }: { readonly id: string }) {
  const { workspace } = useWorkspace();
  const [isConfirming, setIsConfirming] = useState(false);
  const remove = useManageMutation("manageDeleteResponse", {
    stale: ["manageListResponses"],
    onDone: () => {
      setIsConfirming(false);
      toast("Response deleted");
    },
  });
  return (
    <>
      <Button size="small" variant="danger" icon="trash" onClick={() => setIsConfirming(true)}>
        Delete
      </Button>
      <Confirm
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        onConfirm={() => remove.mutate({ params: { workspace, id } })}
        title="Delete this response?"
        action="Delete response"
        danger
        busy={remove.isPending}
        error={remove.error}
      >
        <p>Conversations can't continue from this response. A response that is still being generated is cancelled.</p>
      </Confirm>
    </>
  );
}

function DeleteAllResponses() {
  const { workspace } = useWorkspace();
  const [isConfirming, setIsConfirming] = useState(false);
  const purge = useManageMutation("managePurgeResponses", {
    stale: ["manageListResponses"],
    onDone: ({ deleted }) => {
      setIsConfirming(false);
      toast(`${deleted} ${deleted === 1 ? "response" : "responses"} deleted`);
    },
  });
  return (
    <>
      <Button variant="danger" icon="trash" onClick={() => setIsConfirming(true)}>
        Delete all
      </Button>
      <Confirm
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        onConfirm={() => purge.mutate({ params: { workspace } })}
        title="Delete all stored responses?"
        action="Delete all responses"
        danger
        name={workspace}
        busy={purge.isPending}
        error={purge.error}
      >
        <p>
          All stored responses of this workspace are deleted and can't be restored. Background responses are cancelled.
        </p>
      </Confirm>
    </>
  );
}
