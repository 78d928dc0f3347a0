import { useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import { counted } from "../../format/number.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { SaveBar } from "../../ui/save-bar.tsx";
import { toast } from "../../ui/toast.tsx";
import { Num } from "../../ui/values.tsx";
import { useWorkspace } from "../../url-state.ts";
import { Differences } from "./differences.tsx";
import { type Difference, type PolicyChange, type Preview, patchOf } from "./policy-draft.ts";

type Props = {
  readonly change: PolicyChange;
  readonly differences: readonly Difference[];
  /** Undefined while the effect is being computed. */
  readonly preview: Preview | undefined;
  readonly isValid: boolean;
  readonly discard: () => void;
};

/** Requires confirmation if models in use become unavailable. */
export function SavePolicy({ change, differences, preview, isValid, discard }: Props) {
  const { workspace } = useWorkspace();
  const [isConfirming, setIsConfirming] = useState(false);
  const save = useManageMutation("manageChangePolicy", {
    onDone: () => {
      setIsConfirming(false);
      discard();
      toast("Policy saved");
    },
  });
  const send = () => save.mutate({ params: { workspace }, body: patchOf(change) });
  const isRisky = preview === undefined || preview.lost_in_use.length > 0 || preview.callable.endpoints === 0;
  return (
    <SaveBar
      title={differences.length === 1 ? "1 rule changed" : `${differences.length} rules changed`}
      note={preview === undefined ? undefined : effectText(preview)}
      actions={
        <>
          <Button onClick={discard}>Discard</Button>
          <Button
            variant="primary"
            disabled={!isValid || preview === undefined}
            busy={save.isPending}
            onClick={() => (isRisky ? setIsConfirming(true) : send())}
          >
            Save policy
          </Button>
        </>
      }
    >
      {!isConfirming && <ErrorNote error={save.error} />}
      <Confirm
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        onConfirm={send}
        title="Save this policy?"
        action="Save anyway"
        danger
        busy={save.isPending}
        error={save.error}
      >
        <UnavailableModels preview={preview} />
        <Differences rows={differences} />
      </Confirm>
    </SaveBar>
  );
}

function effectText({ after, all, gained, lost }: Preview): string {
  const available = `${after.models} of ${counted(all.models, "model")} available`;
  return gained.length + lost.length === 0 ? available : `${available}: ${gained.length} added, ${lost.length} removed`;
}

function UnavailableModels({ preview }: { readonly preview: Preview | undefined }) {
  if (preview === undefined) return null;
  if (preview.callable.endpoints === 0)
    return <p>This policy excludes every endpoint. All requests would be rejected.</p>;
  return (
    <>
      <p>These models served requests in the last 30 days and would become unavailable:</p>
      <ul className="grid max-h-48 gap-1 overflow-auto text-ink">
        {preview.lost_in_use.map(({ model, requests }) => (
          <li key={model} className="flex justify-between gap-4">
            <span className="min-w-0 font-mono text-xs break-all">{model}</span>
            <Num value={requests} unit={requests === 1 ? "request" : "requests"} className="text-xs" />
          </li>
        ))}
      </ul>
    </>
  );
}
