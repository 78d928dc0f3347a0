import { useSearchParam, useWorkspace } from "../../address.ts";
import { usePreview } from "../../api/ask.ts";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Callout, Stack } from "../../ui/layout.tsx";
import { useDebounced } from "../../ui/use-calm.ts";
import { type Change, changeOf, differencesOf, type Policy, patchOf, problemsOf } from "./draft.ts";
import { Effect } from "./effect.tsx";
import { ModelFates } from "./model-fates.tsx";
import { Rules } from "./rules.tsx";
import { SavePolicy } from "./save-policy.tsx";

type Props = {
  readonly inForce: Policy;
  readonly change: Change;
  readonly setChange: (change: Change) => void;
  readonly mayChange: boolean;
};

/** The rules on one side, what they do on the other; which models that means below. */
export function Editor({ inForce, change, setChange, mayChange }: Props) {
  const { workspace } = useWorkspace();
  const [scope] = useSearchParam("scope", "callable");
  const draft = { ...inForce, ...change };
  const problems = problemsOf(draft);
  const isSound = Object.keys(problems).length === 0;
  const asked = useDebounced(change);
  const preview = usePreview(
    "managePreviewPolicy",
    {
      params: { workspace },
      query: { scope: scope === "catalogue" ? "catalogue" : "callable" },
      body: patchOf(asked),
    },
    { enabled: Object.keys(problemsOf({ ...inForce, ...asked })).length === 0 },
  );
  const differences = differencesOf(inForce, draft);
  const isSettled =
    JSON.stringify(asked) === JSON.stringify(change) && !preview.isPlaceholderData && !preview.isFetching;
  return (
    <Stack>
      {!mayChange && (
        <Callout title="You can look and try">
          Only an admin or an owner changes the policy. Nothing you choose here is saved.
        </Callout>
      )}
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-5 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <Rules
          draft={draft}
          setDraft={(next) => setChange(changeOf(inForce, next))}
          problems={problems}
          preview={preview.data}
        />
        <div className="grid gap-4 lg:sticky lg:top-4">
          <ErrorNote error={preview.error} />
          <Effect preview={preview.data} isSettled={isSettled && isSound} />
        </div>
      </div>
      <ModelFates preview={preview.data} isSettled={isSettled && isSound} />
      {mayChange && differences.length > 0 && (
        <SavePolicy
          change={change}
          differences={differences}
          preview={isSettled && isSound ? preview.data : undefined}
          isSound={isSound}
          discard={() => setChange({})}
        />
      )}
    </Stack>
  );
}
