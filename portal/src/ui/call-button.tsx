import { useState } from "react";
import type { OperationId, UntypedArgs } from "../api/client.ts";
import { curlOf } from "../api/curl.ts";
import { Button } from "./button.tsx";
import { CodeBlock } from "./code-block.tsx";
import { Dialog } from "./dialog.tsx";

export type Call = { readonly id: OperationId; readonly args: UntypedArgs; readonly says?: string | undefined };

/** Shows the calls that a screen makes, to copy as curl. */
export function CallButton({ calls }: { readonly calls: readonly Call[] }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button look="quiet" icon="terminal" onClick={() => setIsOpen(true)}>
        API
      </Button>
      <Dialog open={isOpen} onClose={() => setIsOpen(false)} title="What this screen calls" size="wide">
        <p className="text-soft">
          The portal has no doors of its own. <code className="font-mono">$TOKEN</code> is a management token of the
          workspace.
        </p>
        {calls.map(({ id, args, says }) => (
          <div key={`${id} ${JSON.stringify(args)}`} className="grid min-w-0 gap-1">
            <p className="text-xs text-soft">{says ?? id}</p>
            <CodeBlock code={curlOf(id, args)} label={says ?? id} />
          </div>
        ))}
      </Dialog>
    </>
  );
}
