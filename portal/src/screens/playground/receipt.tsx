import { numberText } from "../../format/number.ts";
import { durationText } from "../../format/time.ts";
import { LevelBadge } from "../../ui/badge.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Card, KeyValue } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { Country, Money, Num } from "../../ui/values.tsx";
import type { CostRecord, PlaygroundRun } from "./run.ts";

/** Provider, location, level, cost, speed and tokens, from the response headers and the request record. */
export function Receipt({
  run,
  requestPath,
}: {
  readonly run: PlaygroundRun;
  readonly requestPath: (id: string) => string;
}) {
  const { routing, cost } = run;
  const id = routing?.["x-svc-request-id"];
  if (routing === null || id === undefined) return null;
  const countries = (routing["x-svc-compute-countries"] ?? "")
    .split(",")
    .map((code) => code.trim())
    .filter((code) => code !== "");
  const provider = routing["x-svc-provider"];
  const model = routing["x-svc-model"];
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
            name: "Country",
            value: (
              <span className="flex flex-wrap gap-2">
                {countries.map((code) => (
                  <Country key={code} code={code} />
                ))}
              </span>
            ),
          },
        ]),
    ...(routing["x-svc-sovereignty-level"] === undefined
      ? []
      : [{ name: "Level", value: <LevelBadge level={routing["x-svc-sovereignty-level"]} /> }]),
    ...(routing["x-svc-route-reason"] === undefined ? [] : [{ name: "Reason", value: routing["x-svc-route-reason"] }]),
    {
      name: "Cost",
      value:
        cost === null ? (
          <span className="text-soft">Pending</span>
        ) : (
          <Money amount={cost.cost} currency={cost.currency} as="price" />
        ),
    },
    ...(cost === null || !hasUsage(cost) ? [] : [{ name: "Tokens", value: <Tokens usage={cost.usage} /> }]),
    ...timingRows(run),
    {
      name: "Request",
      value: (
        <span className="flex flex-wrap items-center gap-1">
          <Link to={requestPath(id)} className="font-mono text-xs break-all">
            {id}
          </Link>
          <CopyButton text={id} label="Copy request ID" />
        </span>
      ),
    },
  ];
  return (
    <Card title="Receipt">
      <KeyValue rows={rows} />
    </Card>
  );
}

/** The gateway's figures, once they are recorded; until then those of the browser. */
function timingRows({ cost, firstMs, totalMs }: PlaygroundRun): { name: string; value: string }[] {
  const ttfbMs = cost === null ? firstMs : cost.ttfb_ms;
  const endMs = cost === null ? totalMs : cost.total_ms;
  const speed = tokensPerSecond(cost);
  return [
    ...(ttfbMs === null ? [] : [{ name: "TTFB", value: durationText(ttfbMs) }]),
    ...(endMs === null
      ? []
      : [
          {
            name: "Total",
            value: `${durationText(endMs)}${cost === null ? "" : ` · gateway ${durationText(cost.overhead_ms)}`}`,
          },
        ]),
    ...(speed === null ? [] : [{ name: "Tokens/s", value: numberText(speed) }]),
  ];
}

/** Output tokens by total time, as on the usage screen. */
function tokensPerSecond(cost: CostRecord | null): number | null {
  const tokens = cost?.usage["output_tokens"];
  if (cost === null || typeof tokens !== "number" || tokens === 0 || cost.total_ms <= 0) return null;
  return Math.round((tokens * 10_000) / cost.total_ms) / 10;
}

/** Requests that failed have none. */
function hasUsage({ usage }: CostRecord): boolean {
  return Object.values(usage).some((value) => typeof value === "number" && value > 0);
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

export function RawResponse({ run }: { readonly run: PlaygroundRun }) {
  if (run.frames.length === 0) return null;
  return (
    <details className="rounded-lg border bg-card px-5 py-3">
      <summary className="min-h-6 cursor-pointer font-medium text-soft hover:text-ink">
        {run.frames.length === 1 ? "Raw response" : `Raw response (${run.frames.length} events)`}
      </summary>
      <div className="mt-3">
        <CodeBlock
          label="Raw response"
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
