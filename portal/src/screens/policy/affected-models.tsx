import { useState } from "react";
import { Badge, LevelBadge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Input, Select } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { SegmentedControl } from "../../ui/tabs.tsx";
import { Num } from "../../ui/values.tsx";
import { useSearchParam } from "../../url-state.ts";
import { type Preview, RULE_LABELS } from "./policy-draft.ts";

type Model = Preview["models"][number];
type ModelOutcome = Model["fate"];

const OUTCOMES: Readonly<Record<ModelOutcome, { readonly label: string; readonly tone: Tone }>> = {
  stays: { label: "Unchanged", tone: "neutral" },
  gained: { label: "Added", tone: "good" },
  lost: { label: "Removed", tone: "bad" },
  out: { label: "Excluded", tone: "warn" },
};

const SHOWN_FIRST = 40;

/** Available and excluded endpoints per model. */
export function AffectedModels({
  preview,
  isUpToDate,
}: {
  readonly preview: Preview | undefined;
  readonly isUpToDate: boolean;
}) {
  const [scope, setScope] = useSearchParam("scope", "callable");
  const [fate, setOutcome] = useSearchParam("show", "all");
  const [searchText, setSearchText] = useSearchParam("q");
  const [showsAll, setShowsAll] = useState(false);
  const models = (preview?.models ?? []).filter(
    (model) => (fate === "all" || model.fate === fate) && model.id.toLowerCase().includes(searchText.toLowerCase()),
  );
  const sorted = models.toSorted(changedFirst);
  const shown = showsAll ? sorted : sorted.slice(0, SHOWN_FIRST);
  const scopes = (
    <SegmentedControl
      label="Scope"
      options={[
        { value: "callable", label: "Available" },
        { value: "catalogue", label: "Full catalogue" },
      ]}
      value={scope}
      onChange={setScope}
    />
  );
  return (
    <Card title="Models" about="Changed models first" actions={scopes} flush>
      <div className="flex flex-wrap gap-2 border-b px-5 py-3">
        <Input
          type="search"
          aria-label="Search models"
          placeholder="Search models"
          value={searchText}
          onChange={(event) => setSearchText(event.target.value)}
          className="max-w-xs flex-1 basis-40"
        />
        <Select
          aria-label="Filter models"
          value={fate}
          onChange={(event) => setOutcome(event.target.value)}
          options={outcomeOptions(preview)}
          className="max-w-44"
        />
      </div>
      <div aria-busy={!isUpToDate} className={cx("transition-opacity", !isUpToDate && "opacity-60")}>
        {preview === undefined ? (
          <div className="px-5 py-4">
            <SkeletonLines count={6} />
          </div>
        ) : models.length === 0 ? (
          <NoModels isFiltered={preview.models.length > 0} showCatalogue={() => setScope("catalogue")} />
        ) : (
          <ul>
            {shown.map((model) => (
              <ModelRow key={model.id} model={model} />
            ))}
          </ul>
        )}
      </div>
      {models.length > shown.length && (
        <div className="grid justify-center border-t py-3">
          <Button onClick={() => setShowsAll(true)}>Show all {models.length}</Button>
        </div>
      )}
    </Card>
  );
}

function NoModels({ isFiltered, showCatalogue }: { readonly isFiltered: boolean; readonly showCatalogue: () => void }) {
  if (isFiltered) return <EmptyState icon="filter" title="No models match" hint="Change the filter or the search." />;
  return (
    <EmptyState icon="cube" title="No available models" hint="No provider is connected.">
      <Button onClick={showCatalogue}>View full catalogue</Button>
    </EmptyState>
  );
}

function outcomeOptions(preview: Preview | undefined) {
  const count = (fate: ModelOutcome) => preview?.models.filter((model) => model.fate === fate).length ?? 0;
  return [
    { value: "all", label: `All (${preview?.models.length ?? 0})` },
    { value: "stays", label: `Unchanged (${count("stays")})` },
    { value: "lost", label: `Removed (${count("lost")})` },
    { value: "gained", label: `Added (${count("gained")})` },
    { value: "out", label: `Excluded (${count("out")})` },
  ];
}

const ORDER: Readonly<Record<ModelOutcome, number>> = { lost: 0, gained: 1, stays: 2, out: 3 };

function changedFirst(a: Model, b: Model): number {
  return (
    ORDER[a.fate] - ORDER[b.fate] ||
    Number(b.callable) - Number(a.callable) ||
    b.requests - a.requests ||
    (a.id < b.id ? -1 : 1)
  );
}

function ModelRow({ model }: { readonly model: Model }) {
  const available = model.endpoints.filter(({ after }) => after).length;
  const { label, tone } = OUTCOMES[model.fate];
  return (
    <li className="border-b last:border-0">
      <details className="group">
        <summary className="flex min-h-10 items-center gap-3 px-5 py-2 select-none hover:bg-hover/60">
          <Icon name="right" className="size-3.5 text-soft transition-transform group-open:rotate-90" />
          <span className={cx("min-w-0 flex-1 truncate", available === 0 && "text-soft")} title={model.id}>
            {model.id}
          </span>
          {!model.callable && <Badge title="No connected provider serves this model">Connect provider</Badge>}
          {model.requests > 0 && (
            <span className="text-xs text-soft max-sm:hidden">
              <Num value={model.requests} unit={model.requests === 1 ? "request" : "requests"} />
            </span>
          )}
          <span className="figures w-14 text-right text-xs text-soft">
            {available} of {model.endpoints.length}
            <span className="sr-only"> endpoints</span>
          </span>
          <span className="w-20 text-right">
            <Badge tone={tone}>{label}</Badge>
          </span>
        </summary>
        <ul className="grid gap-1 border-t bg-sunken/50 px-5 py-2.5">
          {model.endpoints.map((endpoint) => (
            <EndpointRow key={endpoint.id} endpoint={endpoint} />
          ))}
        </ul>
      </details>
    </li>
  );
}

function EndpointRow({ endpoint }: { readonly endpoint: Model["endpoints"][number] }) {
  const { id, level, countries, after, before, rule, reason } = endpoint;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-0.5 py-0.5">
      <Icon name={after ? "check" : "close"} className={cx("size-3.5", after ? "text-good" : "text-bad")} />
      <span className={cx("min-w-0 font-mono text-xs break-all", !after && "text-soft")}>{id}</span>
      <LevelBadge level={level} />
      <span className="text-xs text-soft">
        {countries.length > 4 ? `${countries.length} countries` : countries.join(" ")}
      </span>
      {!after && rule !== null && (
        <span className="text-xs text-bad">
          {RULE_LABELS[rule]}: {reason}
        </span>
      )}
      {after !== before && <Badge tone={after ? "good" : "bad"}>{after ? "Added" : "Removed"}</Badge>}
    </li>
  );
}
