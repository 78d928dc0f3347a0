import { useState } from "react";
import { durationText } from "../../format/time.ts";
import { LevelBadge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { Icon } from "../../ui/icon.tsx";
import { Money } from "../../ui/values.tsx";
import { type Explained, PART_WORDS, PARTS, percentOf } from "./spec.ts";

type Candidate = Explained["candidates"][number];

/** The endpoints in the order in which they would be tried, each with its score taken apart. */
export function Picks({ answer, max }: { readonly answer: Explained; readonly max: number }) {
  const [isWhole, setIsWhole] = useState(false);
  const planned = inOrder(answer);
  const shown = isWhole ? planned : planned.slice(0, max);
  if (planned.length === 0) return null;
  return (
    <div className="grid gap-2">
      <ol aria-label="Would be tried in this order" className="grid gap-3">
        {shown.map((one, at) => (
          <Pick key={`${one.endpoint} ${one.reason}`} one={one} at={at} answer={answer} />
        ))}
      </ol>
      {planned.length > shown.length && (
        <Button size="small" look="quiet" className="justify-self-start" onClick={() => setIsWhole(true)}>
          {planned.length - shown.length} more
        </Button>
      )}
    </div>
  );
}

function inOrder({ candidates, order }: Explained): Candidate[] {
  const place = new Map(order.map((id, at) => [id, at]));
  return candidates
    .filter(({ outcome }) => outcome === "planned")
    .toSorted((a, b) => (place.get(a.endpoint) ?? order.length) - (place.get(b.endpoint) ?? order.length));
}

function Pick({ one, at, answer }: { readonly one: Candidate; readonly at: number; readonly answer: Explained }) {
  const latencyMs = one.scores?.["expected_latency_ms"];
  const total = one.scores?.["total"];
  return (
    <li className="grid min-w-0 gap-1">
      <div className="flex min-w-0 items-center gap-2">
        <span className="figures w-5 shrink-0 text-xs text-faint">{at + 1}</span>
        <span className={cx("min-w-0 flex-1 truncate", at === 0 && "font-semibold")}>{one.model}</span>
        <LevelBadge level={one.level} />
        <span className="figures w-10 text-right font-medium">
          {total === undefined ? "" : (100 * total).toFixed(0)}
          {total !== undefined && <span className="sr-only"> of 100 points</span>}
        </span>
      </div>
      <div className="grid gap-1 pl-7">
        <ScoreBar scores={one.scores} weights={answer.weights} />
        <p className="flex flex-wrap gap-x-3 text-xs text-soft">
          <span className="min-w-0 truncate font-mono">{one.endpoint.split(":").slice(0, 2).join(" ")}</span>
          <span>
            <Money amount={one.expected_cost} currency={answer.currency} /> expected
          </span>
          {latencyMs !== undefined && <span>{durationText(latencyMs)}</span>}
          <span>{noteOf(one.reason)}</span>
        </p>
      </div>
    </li>
  );
}

/** What is said beside the number of the choice. */
function noteOf(reason: string): string {
  return reason.replace(/^choice \d+(?:, )?/, "");
}

/** Each part as wide as it counts, filled as far as the candidate gets in it. */
function ScoreBar({
  scores,
  weights,
}: {
  readonly scores: Candidate["scores"];
  readonly weights: Explained["weights"];
}) {
  if (scores?.["total"] === undefined || weights === null) return null;
  const percent = percentOf(weights);
  const words = PARTS.map((part) => `${PART_WORDS[part].name} ${Math.round(100 * (scores[part] ?? 0))}`).join(", ");
  return (
    <div title={words}>
      <span className="sr-only">{words}</span>
      <span aria-hidden="true" className="flex h-2 gap-0.5">
        {PARTS.map((part) =>
          percent[part] === 0 ? null : (
            <span
              key={part}
              className="h-full overflow-hidden rounded-sm bg-line"
              style={{ width: `${percent[part]}%` }}
            >
              <span
                className={cx("block h-full", PART_WORDS[part].colour)}
                style={{ width: `${100 * (scores[part] ?? 0)}%` }}
              />
            </span>
          ),
        )}
      </span>
    </div>
  );
}

/** Who is out, by reason. */
export function FallenOut({ answer, isOpen = false }: { readonly answer: Explained; readonly isOpen?: boolean }) {
  const fallen = answer.candidates.filter(({ outcome }) => outcome === "excluded");
  if (fallen.length === 0) return null;
  const byReason = Map.groupBy(fallen, ({ reason }) => reason);
  const groups = [...byReason].toSorted(([, a], [, b]) => b.length - a.length);
  return (
    <details className="group" open={isOpen}>
      <summary className="flex min-h-6 items-center gap-2 text-soft select-none">
        <Icon name="right" className="size-3.5 transition-transform group-open:rotate-90" />
        {fallen.length} {fallen.length === 1 ? "endpoint falls" : "endpoints fall"} out
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
