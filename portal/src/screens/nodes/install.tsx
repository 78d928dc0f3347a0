import { useManage } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeTabs } from "../../ui/code-block.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ShownOnce } from "../../ui/shown-once.tsx";
import { type IssuedNode, installSnippets } from "./node.ts";

const WAIT_LOOK_MS = 1_500;

/** The token, this once, and what to type with it; it turns green by itself when the machine is there. */
export function Install({
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
        <Button look="primary" onClick={close}>
          I have copied the token
        </Button>
      }
    >
      <ShownOnce secret={node.token} label={`token of ${node.name}`} />
      <div className="grid min-w-0 gap-2">
        <p className="text-soft">On the machine beside its model server, in a checkout of the gateway:</p>
        <CodeTabs snippets={installSnippets()} label="Local server" />
      </div>
      <Waiting workspace={workspace} name={node.name} />
    </Dialog>
  );
}

function Waiting({ workspace, name }: { readonly workspace: string; readonly name: string }) {
  const { data } = useManage("manageShowNode", { params: { workspace, node: name } }, { refetchMs: WAIT_LOOK_MS });
  const isThere = data?.state === "connected";
  return (
    <p role="status" className="flex flex-wrap items-center gap-2">
      <Badge tone={isThere ? "good" : "neutral"} dot>
        {isThere ? "connected" : "waiting for it"}
      </Badge>
      <span className="text-soft">
        {isThere
          ? data.models.length === 0
            ? "Its local server has no model yet."
            : `It serves ${data.models.join(", ")}.`
          : "It needs no open port: it connects out by itself."}
      </span>
    </p>
  );
}
