import { useState } from "react";
import { durationText } from "../../format/time.ts";
import { LevelBadge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { Icon } from "../../ui/icon.tsx";
import { Money } from "../../ui/values.tsx";
import { CRITERIA, CRITERION_LABELS, percentOf, type RoutingExplanation } from "./router-spec.ts";

type Candidate = RoutingExplanation["candidates"][number];

/** Planned endpoints in order, with score details. */
export function PlannedEndpoints({
  explanation,
  max,
}: {
  readonly explanation: RoutingExplanation;
  readonly max: number;
}) {
  const [showsAll, setShowsAll] = useState(false);
  const planned = plannedInOrder(explanation);
  const shown = showsAll ? planned : planned.slice(0, max);
  if (planned.length === 0) return null;
  return (
    <div className="grid gap-2">
      <ol aria-label="Planned endpoints" className="grid gap-3">
        {shown.map((candidate, at) => (
          <PlannedEndpoint
            key={`${candidate.endpoint} ${candidate.reason}`}
            candidate={candidate}
            at={at}
            explanation={explanation}
          />
        ))}
      </ol>
      {planned.length > shown.length && (
        <Button size="small" variant="quiet" className="justify-self-start" onClick={() => setShowsAll(true)}>
          Show {planned.length - shown.length} more
        </Button>
      )}
    </div>
  );
}

function plannedInOrder({ candidates, order }: RoutingExplanation): Candidate[] {
  const position = new Map(order.map((id, at) => [id, at]));
  return candidates
    .filter(({ outcome }) => outcome === "planned")
    .toSorted((a, b) => (position.get(a.endpoint) ?? order.length) - (position.get(b.endpoint) ?? order.length));
}

function PlannedEndpoint({
  candidate,
  at,
  explanation,
}: {
  readonly candidate: Candidate;
  readonly at: number;
  readonly explanation: RoutingExplanation;
}) {
  const latencyMs = candidate.scores?.["expected_latency_ms"];
  const total = candidate.scores?.["total"];
  return (
    <li className="grid min-w-0 gap-1">
      <div className="flex min-w-0 items-center gap-2">
        <span className="figures w-5 shrink-0 text-xs text-faint">{at + 1}</span>
        <span className={cx("min-w-0 flex-1 truncate", at === 0 && "font-semibold")}>{candidate.model}</span>
        <LevelBadge level={candidate.level} />
        <span className="figures w-10 text-right font-medium">
          {total === undefined ? "" : (100 * total).toFixed(0)}
          {total !== undefined && <span className="sr-only"> of 100 points</span>}
        </span>
      </div>
      <div className="grid gap-1 pl-7">
        <ScoreBar scores={candidate.scores} weights={explanation.weights} />
        <p className="flex flex-wrap gap-x-3 text-xs text-soft">
          <span className="min-w-0 truncate font-mono">{candidate.endpoint.split(":").slice(0, 2).join(" ")}</span>
          <span>
            <Money amount={candidate.expected_cost} currency={explanation.currency} as="price" /> expected
          </span>
          {latencyMs !== undefined && <span>{durationText(latencyMs)}</span>}
          <span>{noteOf(candidate.reason)}</span>
        </p>
      </div>
    </li>
  );
}

/** The reason without its rank prefix. */
function noteOf(reason: string): string {
  return reason.replace(/^rank \d+(?:, )?/, "");
}

/** Segment width is the weight, its filled part the score. */
function ScoreBar({
  scores,
  weights,
}: {
  readonly scores: Candidate["scores"];
  readonly weights: RoutingExplanation["weights"];
}) {
  if (scores?.["total"] === undefined || weights === null) return null;
  const percent = percentOf(weights);
  const scoreText = CRITERIA.map(
    (criterion) => `${CRITERION_LABELS[criterion].name} ${Math.round(100 * (scores[criterion] ?? 0))}`,
  ).join(", ");
  return (
    <div title={scoreText}>
      <span className="sr-only">{scoreText}</span>
      <span aria-hidden="true" className="flex h-2 gap-0.5">
        {CRITERIA.map((criterion) =>
          percent[criterion] === 0 ? null : (
            <span
              key={criterion}
              className="h-full overflow-hidden rounded-sm bg-line"
              style={{ width: `${percent[criterion]}%` }}
            >
              <span
                className={cx("block h-full", CRITERION_LABELS[criterion].colour)}
                style={{ width: `${100 * (scores[criterion] ?? 0)}%` }}
              />
            </span>
          ),
        )}
      </span>
    </div>
  );
}

/** Excluded endpoints, grouped by reason. */
export function ExcludedEndpoints({
  explanation,
  isOpen = false,
}: {
  readonly explanation: RoutingExplanation;
  readonly isOpen?: boolean;
}) {
  const excluded = explanation.candidates.filter(({ outcome }) => outcome === "excluded");
  if (excluded.length === 0) return null;
  const byReason = Map.groupBy(excluded, ({ reason }) => reason);
  const groups = [...byReason].toSorted(([, a], [, b]) => b.length - a.length);
  return (
    <details className="group" open={isOpen}>
      <summary className="flex min-h-6 items-center gap-2 text-soft select-none">
        <Icon name="right" className="size-3.5 transition-transform group-open:rotate-90" />
        {excluded.length} excluded {excluded.length === 1 ? "endpoint" : "endpoints"}
      </summary>
      <ul className="mt-2 grid max-h-80 gap-2 overflow-auto pl-5.5">
        {groups.map(([reason, rows]) => (
          <li key={reason} className="grid gap-0.5">
            <span className="text-bad">{reason}</span>
            <span className="font-mono text-xs break-words text-soft">
              {rows.map(({ endpoint }) => endpoint).join(", ")}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}
