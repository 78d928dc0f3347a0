import { durationText } from "../../format/time.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { cx } from "../../ui/class-names.ts";
import { Card } from "../../ui/layout.tsx";
import { UntrustedText } from "../../ui/untrusted-text.tsx";
import type { RequestDetail } from "./detail.ts";

type Attempt = RequestDetail["attempts"][number];

type Outcome = { readonly tone: Tone; readonly bar: string; readonly description: string };

const OUTCOMES: Readonly<Record<Attempt["outcome"], Outcome>> = {
  served: { tone: "good", bar: "bg-good", description: "Served" },
  retry: { tone: "warn", bar: "bg-warn", description: "Retried" },
  next: { tone: "warn", bar: "bg-warn", description: "Failed over" },
  stop: { tone: "bad", bar: "bg-bad", description: "Stopped" },
  cancelled: { tone: "neutral", bar: "bg-line-strong", description: "Cancelled" },
};

const FAILED: Outcome = { tone: "bad", bar: "bg-bad", description: "Failed" };

/** The last attempt of a request that was not served would have been retried or failed over, but nothing was left. */
function outcomeOf({ outcome }: Attempt, isLast: boolean): Outcome {
  return isLast && (outcome === "retry" || outcome === "next") ? FAILED : OUTCOMES[outcome];
}

/** Timeline of attempts; the marker is the commit point. */
export function Attempts({ request }: { readonly request: RequestDetail }) {
  const { attempts, ttfb_ms: commitMs } = request;
  const startedMs = Date.parse(request.created_at);
  const startOf = (attempt: Attempt) => Math.max(0, Date.parse(attempt.started_at) - startedMs);
  const spanMs = Math.max(1, request.total_ms, ...attempts.map((one) => startOf(one) + one.duration_ms));
  const percent = (ms: number) => `${Math.min(100, (ms / spanMs) * 100)}%`;
  if (attempts.length === 0)
    return (
      <Card title="Attempts">
        <p className="text-soft">The request ended before any provider was called.</p>
      </Card>
    );
  return (
    <Card
      title="Attempts"
      about={`${attempts.length} ${attempts.length === 1 ? "attempt" : "attempts"} in ${durationText(spanMs)}`}
    >
      <ol className="grid grid-cols-[minmax(0,1fr)] gap-4">
        {attempts.map((attempt, index) => {
          const { tone, bar, description } = outcomeOf(attempt, index === attempts.length - 1);
          return (
            <li
              key={`${attempt.started_at} ${attempt.endpoint} ${attempts.indexOf(attempt)}`}
              className="grid grid-cols-[minmax(0,1fr)] gap-1.5"
            >
              <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
                <span className="figures w-4 text-soft">{index + 1}</span>
                <UntrustedText text={attempt.endpoint} mono className="max-w-[min(24rem,100%)]" />
                <Badge tone={tone}>{description}</Badge>
                {attempt.own_key && <Badge tone="info">Your key</Badge>}
                <span className="figures ml-auto text-soft">
                  {attempt.upstream_status === null ? "No response" : `HTTP ${attempt.upstream_status}`}
                  {" · "}
                  {durationText(attempt.duration_ms)}
                </span>
              </div>
              <div aria-hidden="true" className="relative h-2.5 rounded-full bg-sunken">
                <div
                  className={cx("absolute h-full min-w-1 rounded-full", bar)}
                  style={{ left: percent(startOf(attempt)), width: percent(attempt.duration_ms) }}
                />
                {attempt.outcome === "served" && commitMs !== null && (
                  <div className="absolute -inset-y-1 w-0.5 bg-ink" style={{ left: percent(commitMs) }} />
                )}
              </div>
              <p className="text-xs text-soft">
                <UntrustedText text={attempt.reason} wrap />
                {attempt.maybe_accepted && " The provider may have accepted the request although it did not respond."}
              </p>
            </li>
          );
        })}
      </ol>
      {commitMs !== null && (
        <p className="mt-4 flex items-center gap-2 border-t pt-3 text-xs text-soft">
          <span aria-hidden="true" className="h-3.5 w-0.5 shrink-0 bg-ink" />
          Commit point at {durationText(commitMs)}: first byte of the response. Failover is only possible before it.
        </p>
      )}
    </Card>
  );
}
