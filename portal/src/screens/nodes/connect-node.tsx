import { useManage } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { AgentCommands } from "./agent-commands.tsx";
import type { IssuedNode } from "./node.ts";

const REFETCH_MS = 1_500;

/** Shows the token once and the connect command, and waits for the node to connect. */
export function ConnectNode({
  workspace,
  node,
  close,
}: {
  readonly workspace: string;
  readonly node: IssuedNode;
  readonly close: () => void;
}) {
  return (
    <Dialog
      open
      onClose={close}
      title={`Connect ${node.name}`}
      size="wide"
      footer={
        <Button variant="primary" onClick={close}>
          I copied the token
        </Button>
      }
    >
      <OneTimeSecret secret={node.token} label={`Token for ${node.name}`} />
      <div className="grid min-w-0 gap-2">
        <p className="text-soft">Run one of these on the machine with the model server:</p>
        <AgentCommands node={node} />
      </div>
      <ConnectionStatus workspace={workspace} name={node.name} />
    </Dialog>
  );
}

function ConnectionStatus({ workspace, name }: { readonly workspace: string; readonly name: string }) {
  const { data } = useManage("manageShowNode", { params: { workspace, node: name } }, { refetchMs: REFETCH_MS });
  const isConnected = data?.state === "connected";
  return (
    <p role="status" className="flex flex-wrap items-center gap-2">
      <Badge tone={isConnected ? "good" : "neutral"} dot>
        {isConnected ? "Connected" : "Waiting for connection"}
      </Badge>
      <span className="text-soft">
        {isConnected
          ? data.models.length === 0
            ? "The local server has no models yet."
            : `Serves ${data.models.join(", ")}.`
          : "This updates when the agent connects."}
      </span>
    </p>
  );
}
