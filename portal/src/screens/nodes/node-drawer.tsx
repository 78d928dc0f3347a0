import { useState } from "react";
import { useWorkspace } from "../../address.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Drawer } from "../../ui/dialog.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Callout, KeyValue } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { Num, Time, Unknown } from "../../ui/values.tsx";
import { Install } from "./install.tsx";
import { Mapping } from "./mapping.tsx";
import { type IssuedNode, LOOK_EVERY_MS, type NodeDetail, STATES } from "./node.ts";
import { Declare, Place } from "./place.tsx";

type Props = { readonly name: string; readonly isAdmin: boolean; readonly close: () => void };

/** One node: how it is, its models, and what can be done with it. */
export function NodeDrawer({ name, isAdmin, close }: Props) {
  const { workspace, at } = useWorkspace();
  const asked = useManage("manageShowNode", { params: { workspace, node: name } }, { refetchMs: LOOK_EVERY_MS });
  const node = asked.data;
  return (
    <Drawer open onClose={close} title={name}>
      {node === undefined ? (
        asked.error === null ? (
          <SkeletonLines />
        ) : (
          <ErrorState error={asked.error} onRetry={() => void asked.refetch()} />
        )
      ) : (
        <>
          <Standing node={node} />
          <Models node={node} />
          <Mapping workspace={workspace} node={node} isAdmin={isAdmin} />
          {isAdmin && <Declare workspace={workspace} node={node} />}
          {isAdmin && <Actions workspace={workspace} node={node} close={close} />}
          <p className="text-xs text-soft">
            <Link to={at(`requests?provider=node-${name}`)}>Its requests</Link>
          </p>
        </>
      )}
    </Drawer>
  );
}

function Standing({ node }: { readonly node: NodeDetail }) {
  const { word, tone } = STATES[node.state];
  return (
    <>
      {node.set_aside !== null && (
        <Callout tone="warn" title="It is not asked for now">
          {node.set_aside.reason}. It is tried again <Time at={node.set_aside.until} as="exact" />. Look after its
          server.
        </Callout>
      )}
      <KeyValue
        rows={[
          {
            name: "State",
            value: (
              <span className="inline-flex flex-wrap items-center gap-2">
                <Badge tone={tone} dot>
                  {word}
                </Badge>
                {node.connected_at === null ? (
                  <>
                    last seen <Time at={node.last_seen_at} />
                  </>
                ) : (
                  <Time at={node.connected_at} />
                )}
              </span>
            ),
          },
          { name: "Country", value: <Place country={node.country} /> },
          { name: "Called", value: <code className="font-mono text-xs">node/{node.name}/…</code> },
          { name: "Connects from", value: node.address ?? <Unknown /> },
          { name: "Connected to", value: node.instance === null ? <Unknown /> : `instance ${node.instance}` },
          { name: "Agent", value: node.agent ?? <Unknown /> },
          { name: "Local server", value: node.server || <Unknown /> },
          { name: "Load", value: <Load node={node} /> },
          { name: "Round trip", value: <Num value={node.latency_ms} unit="ms" /> },
          {
            name: "Last error",
            value:
              node.last_error === null ? (
                "none"
              ) : (
                <>
                  {node.last_error.message}, <Time at={node.last_error.at} />
                </>
              ),
          },
          {
            name: "Created",
            value: (
              <>
                <Time at={node.created_at} /> by {node.created_by}
              </>
            ),
          },
        ]}
      />
    </>
  );
}

export function Load({ node }: { readonly node: Pick<NodeDetail, "running" | "capacity"> }) {
  if (node.capacity === null) return <Unknown />;
  return (
    <span className="figures whitespace-nowrap">
      {node.running} of {node.capacity}
    </span>
  );
}

type Served = NodeDetail["served"][number];

const COLUMNS: readonly Column<Served>[] = [
  { id: "model", header: "Model", cell: ({ model }) => <span className="font-mono text-xs break-all">{model}</span> },
  { id: "surfaces", header: "For", cell: ({ surfaces }) => surfaces.join(", ") },
  { id: "context", header: "Context", align: "end", cell: ({ context_tokens }) => <Num value={context_tokens} /> },
  {
    id: "mapped",
    header: "Also behind",
    cell: ({ mapped_to }) =>
      mapped_to === null ? (
        <span className="text-faint">none</span>
      ) : (
        <span className="font-mono text-xs break-all">{mapped_to}</span>
      ),
  },
];

function Models({ node }: { readonly node: NodeDetail }) {
  return (
    <section className="grid gap-3 border-t pt-4">
      <h3>Models</h3>
      <Table
        label="Models of the node"
        columns={COLUMNS}
        rows={node.served}
        keyOf={({ id }) => id}
        empty={
          <p className="px-4 py-3 text-soft">
            {node.state === "offline"
              ? "Its models are seen when it is connected."
              : "Its local server has no model: load one there. It is asked again by itself."}
          </p>
        }
      />
    </section>
  );
}

function Actions({
  workspace,
  node,
  close,
}: {
  readonly workspace: string;
  readonly node: NodeDetail;
  readonly close: () => void;
}) {
  const [asking, setAsking] = useState<"rotate" | "remove">();
  const [issued, setIssued] = useState<IssuedNode>();
  const params = { workspace, node: node.name };
  const rotate = useManageMutation("manageRotateNode", {
    onDone: (made) => {
      setAsking(undefined);
      setIssued(made);
    },
  });
  const remove = useManageMutation("manageRemoveNode", {
    stale: ["manageListNodes"],
    onDone: () => {
      close();
      toast(`${node.name} was removed.`);
    },
  });
  if (issued !== undefined) return <Install workspace={workspace} node={issued} close={() => setIssued(undefined)} />;
  return (
    <section className="flex flex-wrap gap-2 border-t pt-4">
      <Button icon="refresh" onClick={() => setAsking("rotate")}>
        New token
      </Button>
      <Button look="danger" icon="trash" onClick={() => setAsking("remove")}>
        Remove
      </Button>
      <Confirm
        open={asking === "rotate"}
        onClose={() => setAsking(undefined)}
        onConfirm={() => rotate.mutate({ params })}
        title={`A new token for ${node.name}?`}
        action="Make a new token"
        danger
        busy={rotate.isPending}
        error={rotate.error}
      >
        <p>The old token ends at once, and so does the connection that was made with it.</p>
        <p>You see the new one this once, and connect the machine with it again.</p>
      </Confirm>
      <Confirm
        open={asking === "remove"}
        onClose={() => setAsking(undefined)}
        onConfirm={() => remove.mutate({ params })}
        title={`Remove ${node.name}?`}
        action="Remove the node"
        danger
        busy={remove.isPending}
        error={remove.error}
      >
        <p>Its connection ends at once. Requests that it serves now go elsewhere, or fail.</p>
        <p>Its requests stay in the log.</p>
      </Confirm>
    </section>
  );
}
