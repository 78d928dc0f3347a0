import { counted } from "../../format/number.ts";
import { cx } from "../../ui/class-names.ts";
import { Icon } from "../../ui/icon.tsx";
import { Callout, Card } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Num } from "../../ui/values.tsx";
import { type Preview, RULE_LABELS } from "./policy-draft.ts";

/** The effect of the draft before it is saved. */
export function PolicyEffect({
  preview,
  isUpToDate,
}: {
  readonly preview: Preview | undefined;
  readonly isUpToDate: boolean;
}) {
  if (preview === undefined)
    return (
      <Card title="Available after this policy">
        <SkeletonLines count={5} />
      </Card>
    );
  const { all, before, after, callable, rules, lost_in_use } = preview;
  return (
    <section
      aria-label="Available after this policy"
      aria-busy={!isUpToDate}
      className={cx("rounded-lg border bg-card transition-opacity", !isUpToDate && "opacity-60")}
    >
      <header className="border-b px-5 py-3">
        <h2 className="text-sm">Available after this policy</h2>
      </header>
      <div className="grid gap-4 px-5 py-4">
        <p role="status" className="sr-only">
          {isUpToDate
            ? `${after.models} of ${counted(all.models, "model")} and ${after.endpoints} of ${counted(all.endpoints, "endpoint")} available`
            : ""}
        </p>
        <AvailabilityBar name="Models" part={after.models} of={all.models} before={before.models} />
        <AvailabilityBar name="Endpoints" part={after.endpoints} of={all.endpoints} before={before.endpoints} />
        {callable.endpoints === 0 && (
          <Callout tone="bad" title="No endpoints left">
            This policy excludes every callable endpoint. All requests would be rejected.
          </Callout>
        )}
        {lost_in_use.length > 0 && (
          <Callout tone="warn" title="Models in use become unavailable">
            <ul className="grid gap-0.5">
              {lost_in_use.slice(0, 5).map(({ model, requests }) => (
                <li key={model} className="flex justify-between gap-3">
                  <span className="min-w-0 truncate font-mono text-xs" title={model}>
                    {model}
                  </span>
                  <Num value={requests} unit={requests === 1 ? "request" : "requests"} className="text-xs" />
                </li>
              ))}
            </ul>
            {lost_in_use.length > 5 && <p className="text-xs">and {lost_in_use.length - 5} more</p>}
          </Callout>
        )}
        <ExcludedByRule rules={rules} all={all.endpoints} />
      </div>
    </section>
  );
}

function AvailabilityBar({
  name,
  part,
  of,
  before,
}: {
  readonly name: string;
  readonly part: number;
  readonly of: number;
  readonly before: number;
}) {
  const width = of === 0 ? 0 : (100 * part) / of;
  const mark = of === 0 ? 0 : (100 * before) / of;
  const change = part - before;
  return (
    <div className="grid gap-1">
      <div className="flex items-baseline justify-between gap-3">
        <span className="label-mark">{name}</span>
        <span className="figures">
          <strong data-figure={name.toLowerCase()} className="text-xl font-semibold tracking-tight">
            {part}
          </strong>
          <span className="text-soft"> of {of}</span>
          {change !== 0 && (
            <span className={cx("ml-2 text-xs font-medium", change < 0 ? "text-bad" : "text-good")}>
              {change > 0 ? "+" : "−"}
              {Math.abs(change)}
            </span>
          )}
        </span>
      </div>
      <div aria-hidden="true" className="relative h-2 rounded-full bg-line">
        <div className="h-full rounded-full bg-accent transition-[width]" style={{ width: `${width}%` }} />
        {change !== 0 && (
          <span
            title="Current policy"
            className="absolute -top-0.5 h-3 w-0.5 -translate-x-px bg-ink"
            style={{ left: `${mark}%` }}
          />
        )}
      </div>
    </div>
  );
}

function ExcludedByRule({ rules, all }: { readonly rules: Preview["rules"]; readonly all: number }) {
  if (rules.length === 0)
    return (
      <p className="flex gap-2 text-soft">
        <Icon name="check" className="mt-0.5 text-good" />
        No rule excludes any endpoint.
      </p>
    );
  return (
    <div className="grid gap-2.5">
      <h3 className="label-mark">Excluded by rule</h3>
      <ul className="grid gap-3">
        {rules.map(({ rule, out, back }) => (
          <li key={rule} className="grid gap-1">
            <span className="flex justify-between gap-3">
              <span className="font-medium">{RULE_LABELS[rule]}</span>
              <span className="figures text-soft">
                {out.endpoints} {out.endpoints === 1 ? "endpoint" : "endpoints"}
              </span>
            </span>
            <span aria-hidden="true" className="block h-1.5 overflow-hidden rounded-full bg-line">
              <span
                className="block h-full rounded-full bg-c2"
                style={{ width: `${all === 0 ? 0 : (100 * out.endpoints) / all}%` }}
              />
            </span>
            <span className="text-xs text-soft">{removalEffectText(back)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function removalEffectText({ models, endpoints }: Preview["after"]): string {
  if (endpoints === 0) return "Other rules exclude the same endpoints.";
  const more = `${endpoints} ${endpoints === 1 ? "endpoint" : "endpoints"}`;
  if (models === 0) return `Removing it adds ${more} and no models.`;
  return `Removing it adds ${models} ${models === 1 ? "model" : "models"} and ${more}.`;
}
