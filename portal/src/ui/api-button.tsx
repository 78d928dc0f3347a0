import { useState } from "react";
import type { OperationId, UntypedArgs } from "../api/client.ts";
import { curlOf } from "../api/curl.ts";
import { Button } from "./button.tsx";
import { CodeBlock } from "./code-block.tsx";
import { Dialog } from "./dialog.tsx";

export type ApiCall = {
  readonly id: OperationId;
  readonly args: UntypedArgs;
  readonly description?: string | undefined;
};

/** Shows a screen's API calls as curl commands. */
export function ApiButton({ calls }: { readonly calls: readonly ApiCall[] }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button variant="quiet" icon="terminal" onClick={() => setIsOpen(true)}>
        API
      </Button>
      <Dialog open={isOpen} onClose={() => setIsOpen(false)} title="API calls" size="wide">
        <p className="text-soft">
          This screen uses the public management API. <code className="font-mono">$TOKEN</code> is a management token of
          the workspace.
        </p>
        {calls.map(({ id, args, description }) => (
          <div key={`${id} ${JSON.stringify(args)}`} className="grid min-w-0 gap-1">
            <p className="text-xs text-soft">{description ?? id}</p>
            <CodeBlock code={curlOf(id, args)} label={description ?? id} />
          </div>
        ))}
      </Dialog>
    </>
  );
}
