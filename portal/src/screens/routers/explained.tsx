import { durationText } from "../../format/time.ts";
import { Badge } from "../../ui/badge.tsx";
import { cx } from "../../ui/class-names.ts";
import { Callout, Card, KeyValue, Stack } from "../../ui/layout.tsx";
import { Money, Num, Unknown } from "../../ui/values.tsx";
import { FallenOut, Picks } from "./candidates.tsx";
import type { Explained } from "./spec.ts";
import { PartLegend } from "./weight-bar.tsx";

/** Where a request would go: the answer first, then everybody who was looked at. */
export function ExplainedView({ answer, isStale }: { readonly answer: Explained; readonly isStale: boolean }) {
  const { refusal, expected, route_reason, order, candidates, currency, reasoning } = answer;
  return (
    <div
      role="status"
      aria-label="Result of the dry run"
      aria-busy={isStale}
      className={cx("min-w-0", isStale && "opacity-60")}
    >
      <Stack>
        {refusal !== null ? (
          <Callout tone="bad" title={`It would be refused: ${refusal.status} ${refusal.code}`}>
            <p>{refusal.message}</p>
            {refusal.param !== null && <p className="text-xs text-soft">Field: {refusal.param}</p>}
          </Callout>
        ) : (
          <Callout tone="good" title={`It would go to ${expected?.model ?? "nobody"}`}>
            <p className="font-mono text-xs break-all">{expected?.endpoint}</p>
            {route_reason !== null && <p>{route_reason}</p>}
          </Callout>
        )}
        {expected !== null && (
          <Card title="What is expected of it">
            <KeyValue
              rows={[
                { name: "Cost", value: <Money amount={expected.cost} currency={currency} /> },
                {
                  name: "Time",
                  value: expected.latency_ms === null ? "never measured" : durationText(expected.latency_ms),
                },
                {
                  name: "Tokens",
                  value: (
                    <>
                      <Num value={expected.input_tokens} /> in, <Num value={expected.output_tokens} /> out
                    </>
                  ),
                },
                { name: "Reasoning", value: effortWords(reasoning) },
              ]}
            />
          </Card>
        )}
        {order.length > 0 && (
          <Card
            title={`Candidates (${candidates.length})`}
            about="In the order in which they would be tried. Each part is as wide as it counts."
            actions={<PartLegend />}
          >
            <Picks answer={answer} max={12} />
          </Card>
        )}
        <FallenCard answer={answer} />
        <RulesCard answer={answer} />
      </Stack>
    </div>
  );
}

function effortWords(reasoning: Explained["reasoning"]) {
  if (reasoning === null) return <Unknown />;
  const by = { caller: "by the caller", router: "by the router", provider_default: "the provider's default" };
  return `${reasoning.effort ?? ""} ${by[reasoning.chosen_by]}`.trim();
}

function FallenCard({ answer }: { readonly answer: Explained }) {
  if (answer.candidates.every(({ outcome }) => outcome === "planned")) return null;
  return (
    <Card title="Who falls out, and why">
      <FallenOut answer={answer} isOpen={answer.refusal !== null} />
    </Card>
  );
}

function RulesCard({ answer }: { readonly answer: Explained }) {
  if (answer.rules.length === 0) return null;
  return (
    <Card title="Rules in force">
      <ul className="grid gap-2">
        {answer.rules.map(({ rule, value, from }) => (
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
