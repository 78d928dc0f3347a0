import { usePreview } from "../../api/hooks.ts";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Callout, Stack } from "../../ui/layout.tsx";
import { useDebounced } from "../../ui/use-debounced.ts";
import { useSearchParam, useWorkspace } from "../../url-state.ts";
import { AffectedModels } from "./affected-models.tsx";
import { changeOf, differencesOf, type Policy, type PolicyChange, patchOf, problemsOf } from "./policy-draft.ts";
import { PolicyEffect } from "./policy-effect.tsx";
import { PolicyRules } from "./policy-rules.tsx";
import { SavePolicy } from "./save-policy.tsx";

type Props = {
  readonly current: Policy;
  readonly change: PolicyChange;
  readonly setChange: (change: PolicyChange) => void;
  readonly mayChange: boolean;
};

/** Rules, their effect and the affected models. */
export function PolicyEditor({ current, change, setChange, mayChange }: Props) {
  const { workspace } = useWorkspace();
  const [scope] = useSearchParam("scope", "callable");
  const draft = { ...current, ...change };
  const problems = problemsOf(draft);
  const isValid = Object.keys(problems).length === 0;
  const debouncedChange = useDebounced(change);
  const preview = usePreview(
    "managePreviewPolicy",
    {
      params: { workspace },
      query: { scope: scope === "catalogue" ? "catalogue" : "callable" },
      body: patchOf(debouncedChange),
    },
    { enabled: Object.keys(problemsOf({ ...current, ...debouncedChange })).length === 0 },
  );
  const differences = differencesOf(current, draft);
  const isUpToDate =
    JSON.stringify(debouncedChange) === JSON.stringify(change) && !preview.isPlaceholderData && !preview.isFetching;
  return (
    <Stack>
      {!mayChange && (
        <Callout title="Read-only">
          Only admins and owners can change the policy. You can try changes here without saving them.
        </Callout>
      )}
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-5 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <PolicyRules
          draft={draft}
          setDraft={(next) => setChange(changeOf(current, next))}
          problems={problems}
          preview={preview.data}
        />
        <div className="grid gap-4 lg:sticky lg:top-4">
          <ErrorNote error={preview.error} />
          <PolicyEffect preview={preview.data} isUpToDate={isUpToDate && isValid} />
        </div>
      </div>
      <AffectedModels preview={preview.data} isUpToDate={isUpToDate && isValid} />
      {mayChange && differences.length > 0 && (
        <SavePolicy
          change={change}
          differences={differences}
          preview={isUpToDate && isValid ? preview.data : undefined}
          isValid={isValid}
          discard={() => setChange({})}
        />
      )}
    </Stack>
  );
}
