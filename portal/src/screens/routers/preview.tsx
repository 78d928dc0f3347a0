import { useWorkspace } from "../../address.ts";
import { usePreview } from "../../api/ask.ts";
import { cx } from "../../ui/class-names.ts";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Callout } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { useDebounced } from "../../ui/use-calm.ts";
import { FallenOut, Picks } from "./candidates.tsx";
import type { Edited } from "./spec.ts";
import { putOf } from "./spec.ts";

/** An ordinary short request: what most of them look like. */
const SAMPLE = {
  messages: [{ role: "user", content: "Summarise the minutes of our last meeting in five sentences for the team." }],
};

/** Whom the draft would pick for an ordinary request, in which order and by which scores. */
export function Preview({ edited }: { readonly edited: Edited }) {
  const { workspace } = useWorkspace();
  const { slug, draft, spec } = edited;
  const asked = useDebounced(putOf(draft, spec));
  const preview = usePreview("manageExplainRouting", {
    params: { workspace },
    body: { model: slug, request: SAMPLE, spec: asked },
  });
  const isSettled = !preview.isFetching && JSON.stringify(asked) === JSON.stringify(putOf(draft, spec));
  const answer = preview.data;
  return (
    <section aria-label="Preview" aria-busy={!isSettled} className="min-w-0 rounded-lg border bg-card">
      <header className="border-b px-5 py-3">
        <h2 className="text-sm">Who would be picked</h2>
        <p className="text-xs text-soft">For an ordinary short chat request, now.</p>
      </header>
      <div className={cx("grid gap-4 px-5 py-4 transition-opacity", !isSettled && "opacity-60")}>
        <ErrorNote error={preview.error} />
        {answer === undefined ? (
          preview.error === null && <SkeletonLines count={6} />
        ) : (
          <>
            {answer.refusal !== null && (
              <Callout tone="bad" title="It would be refused">
                {answer.refusal.message}
              </Callout>
            )}
            <Picks answer={answer} max={8} />
            <FallenOut answer={answer} />
          </>
        )}
      </div>
    </section>
  );
}
