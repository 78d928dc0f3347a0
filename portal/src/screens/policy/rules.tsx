import type { ReactNode } from "react";
import { useWorkspace } from "../../address.ts";
import { useManage } from "../../api/hooks.ts";
import { ChoiceList } from "../../ui/choice-list.tsx";
import { CountryPicker } from "../../ui/country-picker.tsx";
import { Checkbox } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card, Stack } from "../../ui/layout.tsx";
import { LevelScale } from "../../ui/level-scale.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { useModelChoices } from "../../ui/use-model-choices.ts";
import type { Policy, Preview, problemsOf } from "./draft.ts";

type Props = {
  readonly draft: Policy;
  readonly setDraft: (draft: Policy) => void;
  readonly problems: ReturnType<typeof problemsOf>;
  readonly preview: Preview | undefined;
};

export function Rules({ draft, setDraft, problems, preview }: Props) {
  const put = (change: Partial<Policy>) => setDraft({ ...draft, ...change });
  return (
    <Stack>
      <Card
        title="Sovereignty floor"
        about="The least level of an endpoint. What is below it is never asked; other rules may keep more out."
      >
        <LevelScale
          label="Sovereignty floor"
          value={draft.floor}
          onChange={(floor) => put({ floor })}
          counts={preview === undefined ? undefined : levelsIn(preview)}
        />
      </Card>
      <Card
        title="Compute countries"
        about="Where inference may run. An endpoint whose countries are not known is out."
      >
        <CountryPicker
          value={draft.countries}
          onChange={(countries) => put({ countries: countries === null ? null : [...countries] })}
          error={problems.countries}
        />
      </Card>
      <Card title="Data">
        <div className="grid gap-3">
          <Checkbox
            label="Zero data retention"
            hint="The provider keeps nothing of a request once it is answered. What is not known counts as kept. Capture windows close."
            checked={draft.zero_data_retention}
            onChange={(zero_data_retention) => put({ zero_data_retention })}
          />
          <Checkbox
            label="No training"
            hint="The provider does not train on what is sent. What is not known counts as trained on."
            checked={draft.no_training}
            onChange={(no_training) => put({ no_training })}
          />
        </div>
      </Card>
      <BlockedProviders draft={draft} put={put} />
      <AllowedModels draft={draft} put={put} problem={problems.allowed_models} />
    </Stack>
  );
}

/** How many endpoints stand on each rung, whatever becomes of them. */
function levelsIn({ models }: Preview): Record<string, number> {
  const counts: Record<string, number> = { none: 0, L0: 0, L1: 0, L2: 0, L3: 0, L4: 0 };
  for (const { endpoints } of models)
    for (const { level } of endpoints) {
      const rung = level === "UNCLASSIFIED" ? "none" : level;
      counts[rung] = (counts[rung] ?? 0) + 1;
    }
  return counts;
}

type Part = { readonly draft: Policy; readonly put: (change: Partial<Policy>) => void };

function BlockedProviders({ draft, put }: Part) {
  const { workspace } = useWorkspace();
  const providers = useManage("manageListProviders", { query: { workspace } });
  const blocked = draft.blocked_providers;
  return (
    <Folded
      title="Blocked providers"
      says={blocked.length === 0 ? "none" : blocked.length === 1 ? `${blocked[0]}` : `${blocked.length} providers`}
    >
      {providers.data === undefined ? (
        <Skeleton className="h-32" />
      ) : (
        <ChoiceList
          label="Blocked providers"
          choices={providers.data.data.map(({ slug, name, countries }) => ({
            value: slug,
            label: name,
            note: countries.length <= 3 ? countries.join(" ") : `${countries.length} countries`,
          }))}
          value={blocked}
          onChange={(names) => put({ blocked_providers: [...names] })}
        />
      )}
    </Folded>
  );
}

function AllowedModels({ draft, put, problem }: Part & { readonly problem: string | undefined }) {
  const choices = useModelChoices();
  const allowed = draft.allowed_models;
  return (
    <Folded
      title="Allowed models"
      says={allowed === null ? "every model" : allowed.length === 1 ? "1 model" : `${allowed.length} models`}
    >
      <div className="grid gap-3">
        <Checkbox
          label="Only chosen models"
          hint="New models of the catalogue then stay out until somebody adds them here."
          checked={allowed !== null}
          onChange={(isOn) => put({ allowed_models: isOn ? [] : null })}
        />
        {problem !== undefined && (
          <p role="alert" className="flex items-center gap-1 text-xs text-bad">
            <Icon name="warning" className="size-3.5" />
            {problem}
          </p>
        )}
        {allowed !== null && (
          <ChoiceList
            label="Allowed models"
            choices={choices}
            value={allowed}
            onChange={(names) => put({ allowed_models: [...names] })}
          />
        )}
      </div>
    </Folded>
  );
}

/** A rule that most leave alone: folded, with what it says now. */
function Folded({
  title,
  says,
  children,
}: {
  readonly title: string;
  readonly says: string;
  readonly children: ReactNode;
}) {
  return (
    <details className="group min-w-0 rounded-lg border bg-card">
      <summary className="flex min-h-12 items-center gap-3 px-5 py-3 select-none">
        <Icon name="right" className="text-soft transition-transform group-open:rotate-90" />
        <h2 className="text-sm">{title}</h2>
        <span className="ml-auto min-w-0 truncate text-soft">{says}</span>
      </summary>
      <div className="border-t px-5 py-4">{children}</div>
    </details>
  );
}
