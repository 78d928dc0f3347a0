import { useEffect, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Callout } from "../../ui/layout.tsx";
import { type CandidateChange, type CandidateSnapshot, changesBetween, snapshotOf } from "./candidate-changes.ts";
import type { RoutingExplanation } from "./router-spec.ts";

const SHOWN_MODELS = 3;

/** Changes since the last preview of the same router, also one of an earlier visit; `dismiss` starts from now. */
export function useCandidateChanges(id: string, router: string, explanation: RoutingExplanation | undefined) {
  const key = `preview ${id}`;
  const [baseline, setBaseline] = useState(() => readSnapshot(key));
  const current = explanation === undefined ? undefined : snapshotOf(router, explanation);
  const text = current === undefined ? undefined : JSON.stringify(current);
  useEffect(() => {
    if (text === undefined) return;
    storeSnapshot(key, text);
    const latest: CandidateSnapshot = JSON.parse(text);
    setBaseline((previous) => (previous?.router === latest.router ? previous : latest));
  }, [key, text]);
  return {
    changes: current !== undefined && baseline?.router === router ? changesBetween(baseline, current) : [],
    dismiss: () => setBaseline(current),
  };
}

export function CandidateChangesNote({
  changes,
  dismiss,
}: {
  readonly changes: readonly CandidateChange[];
  readonly dismiss: () => void;
}) {
  if (changes.length === 0) return null;
  return (
    <div role="status">
      <Callout
        title="Candidates changed since the last preview"
        action={
          <Button size="small" onClick={dismiss}>
            Dismiss
          </Button>
        }
      >
        <ul className="grid gap-1">
          {changes.map(({ kind, reason, models }) => (
            <li key={`${kind} ${reason}`}>
              {reason}
              <span className="block font-mono text-xs break-all text-soft" title={models.join(", ")}>
                <span aria-hidden="true">{kind === "added" ? "+ " : "− "}</span>
                <span className="sr-only">{kind === "added" ? "Added: " : "Not available: "}</span>
                {models.slice(0, SHOWN_MODELS).join(", ")}
                {models.length > SHOWN_MODELS && ` and ${models.length - SHOWN_MODELS} more`}
              </span>
            </li>
          ))}
        </ul>
      </Callout>
    </div>
  );
}

function readSnapshot(key: string): CandidateSnapshot | undefined {
  try {
    const stored = localStorage.getItem(key);
    return stored === null ? undefined : JSON.parse(stored);
  } catch {
    return undefined;
  }
}

function storeSnapshot(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // Without storage, changes are shown only while the page is open.
  }
}
