import { useState } from "react";
import { useSearchParam } from "../../address.ts";
import { Badge, LevelBadge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Input, Select } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Segments } from "../../ui/tabs.tsx";
import { Num } from "../../ui/values.tsx";
import { type Preview, RULE_WORDS } from "./draft.ts";

type Model = Preview["models"][number];
type Fate = Model["fate"];

const FATES: Readonly<Record<Fate, { readonly word: string; readonly tone: Tone }>> = {
  stays: { word: "stays", tone: "neutral" },
  gained: { word: "gained", tone: "good" },
  lost: { word: "lost", tone: "bad" },
  out: { word: "out", tone: "warn" },
};

const SHOWN_FIRST = 40;

/** Model by model: which endpoints remain, and why the others do not. */
export function ModelFates({
  preview,
  isSettled,
}: {
  readonly preview: Preview | undefined;
  readonly isSettled: boolean;
}) {
  const [scope, setScope] = useSearchParam("scope", "callable");
  const [fate, setFate] = useSearchParam("show", "all");
  const [words, setWords] = useSearchParam("q");
  const [isWhole, setIsWhole] = useState(false);
  const models = (preview?.models ?? []).filter(
    (model) => (fate === "all" || model.fate === fate) && model.id.toLowerCase().includes(words.toLowerCase()),
  );
  const sorted = models.toSorted(changedFirst);
  const shown = isWhole ? sorted : sorted.slice(0, SHOWN_FIRST);
  const scopes = (
    <Segments
      label="What is counted"
      options={[
        { value: "callable", label: "Callable here" },
        { value: "catalogue", label: "Whole catalogue" },
      ]}
      value={scope}
      onChange={setScope}
    />
  );
  return (
    <Card title="Models" about="Changed ones first." actions={scopes} flush>
      <div className="flex flex-wrap gap-2 border-b px-5 py-3">
        <Input
          type="search"
          aria-label="Search models"
          placeholder="Search models"
          value={words}
          onChange={(event) => setWords(event.target.value)}
          className="max-w-xs flex-1 basis-40"
        />
        <Select
          aria-label="Which models"
          value={fate}
          onChange={(event) => setFate(event.target.value)}
          options={fateOptions(preview)}
          className="max-w-44"
        />
      </div>
      <div aria-busy={!isSettled} className={cx("transition-opacity", !isSettled && "opacity-60")}>
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
          <Button onClick={() => setIsWhole(true)}>Show all {models.length}</Button>
        </div>
      )}
    </Card>
  );
}

function NoModels({ isFiltered, showCatalogue }: { readonly isFiltered: boolean; readonly showCatalogue: () => void }) {
  if (isFiltered)
    return <EmptyState icon="filter" title="No model is like that" hint="Choose all models, or search for another." />;
  return (
    <EmptyState icon="cube" title="Nothing can be called here yet" hint="No provider is connected.">
      <Button onClick={showCatalogue}>Look at the whole catalogue</Button>
    </EmptyState>
  );
}

function fateOptions(preview: Preview | undefined) {
  const count = (fate: Fate) => preview?.models.filter((model) => model.fate === fate).length ?? 0;
  return [
    { value: "all", label: `All (${preview?.models.length ?? 0})` },
    { value: "stays", label: `Stay (${count("stays")})` },
    { value: "lost", label: `Lost (${count("lost")})` },
    { value: "gained", label: `Gained (${count("gained")})` },
    { value: "out", label: `Out (${count("out")})` },
  ];
}

const ORDER: Readonly<Record<Fate, number>> = { lost: 0, gained: 1, stays: 2, out: 3 };

function changedFirst(a: Model, b: Model): number {
  return ORDER[a.fate] - ORDER[b.fate] || b.requests - a.requests || (a.id < b.id ? -1 : 1);
}

function ModelRow({ model }: { readonly model: Model }) {
  const left = model.endpoints.filter(({ after }) => after).length;
  const { word, tone } = FATES[model.fate];
  return (
    <li className="border-b last:border-0">
      <details className="group">
        <summary className="flex min-h-10 items-center gap-3 px-5 py-2 select-none hover:bg-hover/60">
          <Icon name="right" className="size-3.5 text-soft transition-transform group-open:rotate-90" />
          <span className={cx("min-w-0 flex-1 truncate", left === 0 && "text-soft")} title={model.id}>
            {model.id}
          </span>
          {model.requests > 0 && (
            <span className="text-xs text-soft max-sm:hidden">
              <Num value={model.requests} unit={model.requests === 1 ? "request" : "requests"} />
            </span>
          )}
          <span className="figures w-14 text-right text-xs text-soft">
            {left} of {model.endpoints.length}
            <span className="sr-only"> endpoints</span>
          </span>
          <span className="w-15">
            <Badge tone={tone}>{word}</Badge>
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
          {RULE_WORDS[rule]}: {reason}
        </span>
      )}
      {after !== before && <Badge tone={after ? "good" : "bad"}>{after ? "new" : "was in"}</Badge>}
    </li>
  );
}
