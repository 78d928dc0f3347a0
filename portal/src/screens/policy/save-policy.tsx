import { useState } from "react";
import { useWorkspace } from "../../address.ts";
import { useManageMutation } from "../../api/hooks.ts";
import { counted } from "../../format/number.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { SaveBar } from "../../ui/save-bar.tsx";
import { toast } from "../../ui/toast.tsx";
import { Num } from "../../ui/values.tsx";
import { Differences } from "./differences.tsx";
import { type Change, type Difference, type Preview, patchOf } from "./draft.ts";

type Props = {
  readonly change: Change;
  readonly differences: readonly Difference[];
  /** Undefined while it is not known what the draft would do. */
  readonly preview: Preview | undefined;
  readonly isSound: boolean;
  readonly discard: () => void;
};

/** Says what would change and saves it; asks first when models that are in use would be lost. */
export function SavePolicy({ change, differences, preview, isSound, discard }: Props) {
  const { workspace } = useWorkspace();
  const [isAsking, setIsAsking] = useState(false);
  const save = useManageMutation("manageChangePolicy", {
    onDone: () => {
      setIsAsking(false);
      discard();
      toast("Saved. The next request already follows it.");
    },
  });
  const send = () => save.mutate({ params: { workspace }, body: patchOf(change) });
  const isRisky = preview === undefined || preview.lost_in_use.length > 0 || preview.callable.endpoints === 0;
  return (
    <SaveBar
      title={differences.length === 1 ? "1 rule changed" : `${differences.length} rules changed`}
      note={preview === undefined ? undefined : effectWords(preview)}
      actions={
        <>
          <Button onClick={discard}>Discard</Button>
          <Button
            look="primary"
            disabled={!isSound || preview === undefined}
            busy={save.isPending}
            onClick={() => (isRisky ? setIsAsking(true) : send())}
          >
            Save the policy
          </Button>
        </>
      }
    >
      {!isAsking && <ErrorNote error={save.error} />}
      <Confirm
        open={isAsking}
        onClose={() => setIsAsking(false)}
        onConfirm={send}
        title="Save this policy?"
        action="Save anyway"
        danger
        busy={save.isPending}
        error={save.error}
      >
        <Losses preview={preview} />
        <Differences rows={differences} />
      </Confirm>
    </SaveBar>
  );
}

function effectWords({ after, all, gained, lost }: Preview): string {
  const remain = `${after.models} of ${counted(all.models, "model")} remain`;
  return gained.length + lost.length === 0 ? remain : `${remain}: ${gained.length} gained, ${lost.length} lost`;
}

function Losses({ preview }: { readonly preview: Preview | undefined }) {
  if (preview === undefined) return null;
  if (preview.callable.endpoints === 0) return <p>No endpoint is left: every request would be refused.</p>;
  return (
    <>
      <p>These models served requests in the last 30 days and could not be called any more:</p>
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
