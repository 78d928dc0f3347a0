import { durationText } from "../../format/time.ts";
import { LevelBadge } from "../../ui/badge.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Card, KeyValue } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { Country, Money, Num } from "../../ui/values.tsx";
import type { Run } from "./run.ts";

/** Who answered, where, at which level, for how much and how fast: from the headers of the answer and its record. */
export function ServedCard({ run, requestPath }: { readonly run: Run; readonly requestPath: (id: string) => string }) {
  const { served, cost, firstMs, totalMs } = run;
  const id = served?.["x-svc-request-id"];
  if (served === null || id === undefined) return null;
  const countries = (served["x-svc-compute-countries"] ?? "")
    .split(",")
    .map((code) => code.trim())
    .filter((code) => code !== "");
  const provider = served["x-svc-provider"];
  const model = served["x-svc-model"];
  const rows = [
    ...(provider === undefined
      ? []
      : [{ name: "Provider", value: <Link to={`/app/providers/${encodeURIComponent(provider)}`}>{provider}</Link> }]),
    ...(model === undefined
      ? []
      : [{ name: "Model", value: <code className="font-mono text-[0.8125rem]">{model}</code> }]),
    ...(countries.length === 0
      ? []
      : [
          {
            name: "Computed in",
            value: (
              <span className="flex flex-wrap gap-2">
                {countries.map((code) => (
                  <Country key={code} code={code} />
                ))}
              </span>
            ),
          },
        ]),
    ...(served["x-svc-sovereignty-level"] === undefined
      ? []
      : [{ name: "Level", value: <LevelBadge level={served["x-svc-sovereignty-level"]} /> }]),
    ...(served["x-svc-route-reason"] === undefined ? [] : [{ name: "Why there", value: served["x-svc-route-reason"] }]),
    {
      name: "Cost",
      value:
        cost === null ? (
          <span className="text-soft">not told yet</span>
        ) : (
          <Money amount={cost.cost} currency={cost.currency} />
        ),
    },
    ...(cost === null ? [] : [{ name: "Tokens", value: <Tokens usage={cost.usage} /> }]),
    { name: "Time", value: timeWords(firstMs, totalMs, cost?.overhead_ms ?? null) },
    {
      name: "Request",
      value: (
        <span className="flex flex-wrap items-center gap-1">
          <Link to={requestPath(id)} className="font-mono text-xs break-all">
            {id}
          </Link>
          <CopyButton text={id} label="Copy the request id" />
        </span>
      ),
    },
  ];
  return (
    <Card title="What served it">
      <KeyValue rows={rows} />
    </Card>
  );
}

function timeWords(firstMs: number | null, totalMs: number | null, overheadMs: number | null): string {
  const parts = [
    firstMs === null ? undefined : `first byte after ${durationText(firstMs)}`,
    totalMs === null ? undefined : `done after ${durationText(totalMs)}`,
    overheadMs === null ? undefined : `of that the gateway ${durationText(overheadMs)}`,
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}

function Tokens({ usage }: { readonly usage: Readonly<Record<string, number | boolean | null>> }) {
  const shown = [
    ["input_tokens", "in"],
    ["cached_tokens", "cached"],
    ["output_tokens", "out"],
    ["reasoning_tokens", "reasoning"],
    ["characters", "characters"],
    ["seconds", "seconds"],
  ] as const;
  const known = shown.flatMap(([name, label]) => {
    const value = usage[name];
    return typeof value === "number" && value > 0 ? [{ value, label }] : [];
  });
  return (
    <span className="flex flex-wrap gap-x-3">
      {known.map(({ value, label }) => (
        <Num key={label} value={value} unit={label} />
      ))}
    </span>
  );
}

/** Everything that came over the wire. */
export function Wire({ run }: { readonly run: Run }) {
  if (run.frames.length === 0) return null;
  return (
    <details className="rounded-lg border bg-card px-5 py-3">
      <summary className="min-h-6 cursor-pointer font-medium text-soft hover:text-ink">
        {run.frames.length === 1 ? "The answer as it came" : `The ${run.frames.length} events as they came`}
      </summary>
      <div className="mt-3">
        <CodeBlock
          label="What came over the wire"
          code={run.frames
            .map((frame) =>
              typeof frame === "string" ? frame : JSON.stringify(frame, null, run.frames.length === 1 ? 2 : 0),
            )
            .join("\n")}
        />
      </div>
    </details>
  );
}
