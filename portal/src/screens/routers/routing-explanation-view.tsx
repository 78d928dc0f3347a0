import { durationText } from "../../format/time.ts";
import { Badge } from "../../ui/badge.tsx";
import { cx } from "../../ui/class-names.ts";
import { Callout, Card, KeyValue, Stack } from "../../ui/layout.tsx";
import { Money, Num, Unknown } from "../../ui/values.tsx";
import { ExcludedEndpoints, PlannedEndpoints } from "./planned-endpoints.tsx";
import type { RoutingExplanation } from "./router-spec.ts";
import { CriteriaLegend } from "./weight-bar.tsx";

/** The routing result, then all candidates. */
export function RoutingExplanationView({
  explanation,
  isStale,
}: {
  readonly explanation: RoutingExplanation;
  readonly isStale: boolean;
}) {
  const { refusal, expected, route_reason, order, candidates, currency, reasoning } = explanation;
  return (
    <div
      role="status"
      aria-label="Dry run result"
      aria-busy={isStale}
      className={cx("min-w-0", isStale && "opacity-60")}
    >
      <Stack>
        {refusal !== null ? (
          <Callout tone="bad" title={`Rejected: ${refusal.status} ${refusal.code}`}>
            <p>{refusal.message}</p>
            {refusal.param !== null && <p className="text-xs text-soft">Field: {refusal.param}</p>}
          </Callout>
        ) : (
          <Callout tone="good" title={`Routed to ${expected?.model ?? "no model"}`}>
            <p className="font-mono text-xs break-all">{expected?.endpoint}</p>
            {route_reason !== null && <p>{route_reason}</p>}
          </Callout>
        )}
        {expected !== null && (
          <Card title="Estimate">
            <KeyValue
              rows={[
                { name: "Cost", value: <Money amount={expected.cost} currency={currency} as="price" /> },
                {
                  name: "Latency",
                  value: expected.latency_ms === null ? "Not measured" : durationText(expected.latency_ms),
                },
                {
                  name: "Tokens",
                  value: (
                    <>
                      <Num value={expected.input_tokens} /> input, <Num value={expected.output_tokens} /> output
                    </>
                  ),
                },
                { name: "Reasoning", value: effortText(reasoning) },
              ]}
            />
          </Card>
        )}
        {order.length > 0 && (
          <Card
            title={`Candidates (${candidates.length})`}
            about="In planned order. Bar width shows the weight of each criterion."
            actions={<CriteriaLegend />}
          >
            <PlannedEndpoints explanation={explanation} max={12} />
          </Card>
        )}
        <ExcludedCard explanation={explanation} />
        <RulesCard explanation={explanation} />
      </Stack>
    </div>
  );
}

function effortText(reasoning: RoutingExplanation["reasoning"]) {
  if (reasoning === null) return <Unknown />;
  const by = { caller: "(set by the caller)", router: "(set by the router)", provider_default: "Provider default" };
  return `${reasoning.effort ?? ""} ${by[reasoning.chosen_by]}`.trim();
}

function ExcludedCard({ explanation }: { readonly explanation: RoutingExplanation }) {
  if (explanation.candidates.every(({ outcome }) => outcome === "planned")) return null;
  return (
    <Card title="Excluded endpoints">
      <ExcludedEndpoints explanation={explanation} isOpen={explanation.refusal !== null} />
    </Card>
  );
}

function RulesCard({ explanation }: { readonly explanation: RoutingExplanation }) {
  if (explanation.rules.length === 0) return null;
  return (
    <Card title="Applied rules">
      <ul className="grid gap-2">
        {explanation.rules.map(({ rule, value, from }) => (
          <li key={rule} className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <span className="w-40 text-soft">{rule.replaceAll("_", " ")}</span>
            <span className="min-w-0 flex-1 font-mono text-xs break-words">{valueText(value)}</span>
            <span className="flex gap-1">
              {from.map((one) => (
                <Badge key={one}>{one}</Badge>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const SHOWN_MAX = 12;

function valueText(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  return value.length > SHOWN_MAX
    ? `${value.slice(0, SHOWN_MAX).join(" ")} and ${value.length - SHOWN_MAX} more`
    : value.join(" ");
}
