import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { CodeTabs } from "../../ui/code-block.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { codeOf } from "./code-samples.ts";
import type { Draft } from "./draft.ts";

/** Code for the request that is being written, or for the last one if the form is incomplete. */
export function CodeButton({
  drafts,
  sent,
  fileName,
}: {
  readonly drafts: readonly Draft[];
  readonly sent: readonly Draft[];
  readonly fileName: string;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const [column, setColumn] = useState(0);
  const codeFor = (draft: Draft | undefined) => draft && codeOf(draft, location.origin, fileName);
  const isWritten = isOpen && codeFor(drafts[0]) !== undefined;
  const shown = isWritten ? drafts : sent;
  const code = isOpen ? codeFor(shown[column] ?? shown[0]) : undefined;
  return (
    <>
      <Button icon="terminal" onClick={() => setIsOpen(true)}>
        Code
      </Button>
      <Dialog open={isOpen} onClose={() => setIsOpen(false)} title="Code for this request" size="wide">
        {code === undefined ? (
          <p className="text-soft">Complete the request first: it needs a model and a prompt.</p>
        ) : (
          <>
            {shown.length > 1 && (
              <Field label="Model" className="sm:w-96">
                <Select
                  value={String(column)}
                  options={shown.map(({ model }, index) => ({ value: String(index), label: model }))}
                  onChange={(event) => setColumn(Number(event.target.value))}
                />
              </Field>
            )}
            <p className="text-soft">
              {isWritten ? "" : "The request that was sent last. "}The key is read from the environment:{" "}
              <code className="font-mono">export GATEWAY_KEY=sk_svc_…</code>
            </p>
            <CodeTabs
              label="Language"
              snippets={[
                { id: "curl", label: "curl", code: code.curl },
                { id: "typescript", label: "TypeScript", code: code.typescript },
                { id: "python", label: "Python", code: code.python },
              ]}
            />
          </>
        )}
      </Dialog>
    </>
  );
}
