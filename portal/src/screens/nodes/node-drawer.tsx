import { useState } from "react";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Drawer } from "../../ui/dialog.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Callout, KeyValue } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { toast } from "../../ui/toast.tsx";
import { Num, Time, Unknown } from "../../ui/values.tsx";
import { useWorkspace } from "../../url-state.ts";
import { Attestation, NodeLevel } from "./attestation.tsx";
import { ConnectNode } from "./connect-node.tsx";
import { ModelMapping } from "./model-mapping.tsx";
import { downloadCommand, type IssuedNode, type NodeDetail, REFETCH_MS, STATES } from "./node.ts";
import { CountryForm, NodeCountry } from "./node-country.tsx";
import { NodeModels } from "./node-models.tsx";

type Props = { readonly name: string; readonly isAdmin: boolean; readonly close: () => void };

export function NodeDrawer({ name, isAdmin, close }: Props) {
  const { workspace, at } = useWorkspace();
  const query = useManage("manageShowNode", { params: { workspace, node: name } }, { refetchMs: REFETCH_MS });
  const node = query.data;
  return (
    <Drawer open onClose={close} title={name}>
      {node === undefined ? (
        query.error === null ? (
          <SkeletonLines />
        ) : (
          <ErrorState error={query.error} onRetry={() => void query.refetch()} />
        )
      ) : (
        <>
          <NodeStatus node={node} />
          <NodeModels workspace={workspace} node={node} isAdmin={isAdmin} />
          <ModelMapping workspace={workspace} node={node} isAdmin={isAdmin} />
          {isAdmin && <CountryForm workspace={workspace} node={node} />}
          <Attestation workspace={workspace} node={node} isAdmin={isAdmin} />
          {isAdmin && <Actions workspace={workspace} node={node} close={close} />}
          <p className="text-xs text-soft">
            <Link to={at(`requests?provider=node-${name}`)}>View requests</Link>
          </p>
        </>
      )}
    </Drawer>
  );
}

function NodeStatus({ node }: { readonly node: NodeDetail }) {
  const { label, tone } = STATES[node.state];
  return (
    <>
      {node.set_aside !== null && (
        <Callout tone="warn" title="Circuit open">
          {node.set_aside.reason}. Next attempt <Time at={node.set_aside.until} as="exact" />. Check the local server.
        </Callout>
      )}
      {node.agent_update !== null && <AgentUpdate node={node} version={node.agent_update} />}
      <KeyValue
        rows={[
          {
            name: "Status",
            value: (
              <span className="inline-flex flex-wrap items-center gap-2">
                <Badge tone={tone} dot>
                  {label}
                </Badge>
                {node.connected_at === null ? (
                  <>
                    Last seen <Time at={node.last_seen_at} />
                  </>
                ) : (
                  <Time at={node.connected_at} />
                )}
              </span>
            ),
          },
          { name: "Country", value: <NodeCountry country={node.country} /> },
          { name: "Level", value: <NodeLevel node={node} /> },
          { name: "Model prefix", value: <code className="font-mono text-xs">node/{node.name}/…</code> },
          { name: "IP address", value: node.address ?? <Unknown /> },
          { name: "Gateway instance", value: node.instance === null ? <Unknown /> : node.instance },
          { name: "Agent", value: node.agent ?? <Unknown /> },
          { name: "Local server", value: node.server || <Unknown /> },
          { name: "Load", value: <Load node={node} /> },
          { name: "Round trip", value: <Num value={node.latency_ms} unit="ms" /> },
          {
            name: "Last error",
            value:
              node.last_error === null ? (
                "None"
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

function AgentUpdate({ node, version }: { readonly node: NodeDetail; readonly version: string }) {
  return (
    <Callout tone="warn" title="Agent and gateway have different versions">
      <div className="grid min-w-0 gap-2">
        <p>
          The agent is version {node.agent}, the gateway {version}. Download the agent again on the machine and restart
          it:
        </p>
        <CodeBlock code={downloadCommand()} label="Update agent" />
        <p>
          In Docker, restart the container: <code className="font-mono">docker restart inference-node-{node.name}</code>
        </p>
      </div>
    </Callout>
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

function Actions({
  workspace,
  node,
  close,
}: {
  readonly workspace: string;
  readonly node: NodeDetail;
  readonly close: () => void;
}) {
  const [confirming, setConfirming] = useState<"rotate" | "remove">();
  const [rotatedNode, setRotatedNode] = useState<IssuedNode>();
  const params = { workspace, node: node.name };
  const rotate = useManageMutation("manageRotateNode", {
    onDone: (made) => {
      setConfirming(undefined);
      setRotatedNode(made);
    },
  });
  const remove = useManageMutation("manageRemoveNode", {
    stale: ["manageListNodes"],
    onDone: () => {
      close();
      toast(`${node.name} removed`);
    },
  });
  if (rotatedNode !== undefined)
    return <ConnectNode workspace={workspace} node={rotatedNode} close={() => setRotatedNode(undefined)} />;
  return (
    <section className="flex flex-wrap gap-2 border-t pt-4">
      <Button icon="refresh" onClick={() => setConfirming("rotate")}>
        Rotate token
      </Button>
      <Button variant="danger" icon="trash" onClick={() => setConfirming("remove")}>
        Remove node
      </Button>
      <Confirm
        open={confirming === "rotate"}
        onClose={() => setConfirming(undefined)}
        onConfirm={() => rotate.mutate({ params })}
        title={`Rotate token of ${node.name}?`}
        action="Rotate token"
        danger
        busy={rotate.isPending}
        error={rotate.error}
      >
        <p>The old token stops working immediately and its connection is closed.</p>
        <p>The new token is shown once. Use it to reconnect the node.</p>
      </Confirm>
      <Confirm
        open={confirming === "remove"}
        onClose={() => setConfirming(undefined)}
        onConfirm={() => remove.mutate({ params })}
        title={`Remove ${node.name}?`}
        action="Remove node"
        danger
        busy={remove.isPending}
        error={remove.error}
      >
        <p>The connection is closed immediately. Running requests fail over to another endpoint or fail.</p>
        <p>Past requests stay in the log.</p>
      </Confirm>
    </section>
  );
}
