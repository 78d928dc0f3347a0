import { usePreview } from "../../api/hooks.ts";
import { cx } from "../../ui/class-names.ts";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Callout } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { useDebounced } from "../../ui/use-debounced.ts";
import { useWorkspace } from "../../url-state.ts";
import { CandidateChangesNote, useCandidateChanges } from "./candidate-changes-note.tsx";
import { ExcludedEndpoints, PlannedEndpoints } from "./planned-endpoints.tsx";
import { type RouterEditing, routerBody } from "./router-spec.ts";

/** Nodes join and leave, and circuits open, while the page is open. */
const REFETCH_MS = 5_000;

/** A typical short request. */
const SAMPLE = {
  messages: [{ role: "user", content: "Summarise the minutes of our last meeting in five sentences for the team." }],
};

/** Routing of a typical request with the draft. */
export function RoutingPreview({ editing }: { readonly editing: RouterEditing }) {
  const { workspace } = useWorkspace();
  const { slug, draft, spec } = editing;
  const debouncedBody = useDebounced(routerBody(draft, spec));
  const preview = usePreview(
    "manageExplainRouting",
    { params: { workspace }, body: { model: slug, request: SAMPLE, spec: debouncedBody } },
    { refetchMs: REFETCH_MS },
  );
  const router = JSON.stringify(debouncedBody);
  const isOfDraft = !preview.isPlaceholderData && router === JSON.stringify(routerBody(draft, spec));
  const isUpToDate = isOfDraft && !preview.isPending;
  const explanation = preview.data;
  const { changes, dismiss } = useCandidateChanges(`${workspace} ${slug}`, router, isOfDraft ? explanation : undefined);
  return (
    <section aria-label="Preview" aria-busy={!isUpToDate} className="min-w-0 rounded-lg border bg-card">
      <header className="border-b px-5 py-3">
        <h2 className="text-sm">Routing preview</h2>
        <p className="text-xs text-soft">For a typical short chat request</p>
      </header>
      <div className={cx("grid gap-4 px-5 py-4 transition-opacity", !isUpToDate && "opacity-60")}>
        <ErrorNote error={preview.error} />
        {explanation === undefined ? (
          preview.error === null && <SkeletonLines count={6} />
        ) : (
          <>
            {explanation.refusal !== null && (
              <Callout tone="bad" title="Request would be rejected">
                {explanation.refusal.message}
              </Callout>
            )}
            <CandidateChangesNote changes={changes} dismiss={dismiss} />
            <PlannedEndpoints explanation={explanation} max={8} />
            <ExcludedEndpoints explanation={explanation} />
          </>
        )}
      </div>
    </section>
  );
}
