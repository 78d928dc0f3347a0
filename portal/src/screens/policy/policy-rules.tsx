import type { ReactNode } from "react";
import { useManage } from "../../api/hooks.ts";
import { ChoiceList } from "../../ui/choice-list.tsx";
import { CountryPicker } from "../../ui/country-picker.tsx";
import { Checkbox } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card, Stack } from "../../ui/layout.tsx";
import { LevelScale } from "../../ui/level-scale.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { useModelChoices } from "../../ui/use-model-choices.ts";
import { useWorkspace } from "../../url-state.ts";
import type { Policy, Preview, problemsOf } from "./policy-draft.ts";

type Props = {
  readonly draft: Policy;
  readonly setDraft: (draft: Policy) => void;
  readonly problems: ReturnType<typeof problemsOf>;
  readonly preview: Preview | undefined;
};

export function PolicyRules({ draft, setDraft, problems, preview }: Props) {
  const put = (change: Partial<Policy>) => setDraft({ ...draft, ...change });
  return (
    <Stack>
      <Card title="Sovereignty floor" about="The minimum level of an endpoint. Endpoints below it are never called.">
        <div className="grid gap-3">
          <LevelScale
            label="Sovereignty floor"
            value={draft.floor}
            onChange={(floor) => put({ floor })}
            counts={preview === undefined ? undefined : levelsIn(preview)}
          />
          <Checkbox
            label="Exempt own nodes"
            hint="Nodes of this workspace may serve below this floor, though never below the floor of a key or router. Responses and the log report their true level."
            checked={draft.own_nodes === "exempt"}
            onChange={(isOn) => put({ own_nodes: isOn ? "exempt" : "subject" })}
          />
        </div>
      </Card>
      <Card title="Compute countries" about="Where inference may run. Endpoints with unknown countries are excluded.">
        <CountryPicker
          value={draft.countries}
          onChange={(countries) => put({ countries: countries === null ? null : [...countries] })}
          error={problems.countries}
        />
      </Card>
      <Card title="Data handling">
        <div className="grid gap-3">
          <Checkbox
            label="Zero data retention"
            hint="The provider retains no data after the response. Endpoints with unknown retention are excluded. Open capture windows are closed."
            checked={draft.zero_data_retention}
            onChange={(zero_data_retention) => put({ zero_data_retention })}
          />
          <Checkbox
            label="No training"
            hint="The provider does not train on your data. Endpoints with unknown practices are excluded."
            checked={draft.no_training}
            onChange={(no_training) => put({ no_training })}
          />
        </div>
      </Card>
      <Card title="Test keys">
        <Checkbox
          label="Simulated providers only"
          hint="Test keys reach simulated providers only. Otherwise they call the same models at the same price as live keys."
          checked={draft.test_keys === "simulated"}
          onChange={(isOn) => put({ test_keys: isOn ? "simulated" : "any" })}
        />
      </Card>
      <Card title="Parameters">
        <Checkbox
          label="Lenient"
          hint="Accept parameters that a model lacks when their value requests nothing, such as store: false. Otherwise they are rejected."
          checked={draft.parameters === "lenient"}
          onChange={(isOn) => put({ parameters: isOn ? "lenient" : null })}
        />
      </Card>
      <BlockedProviders draft={draft} put={put} />
      <AllowedModels draft={draft} put={put} problem={problems.allowed_models} />
    </Stack>
  );
}

/** The number of endpoints per level, before other rules. */
function levelsIn({ models }: Preview): Record<string, number> {
  const counts: Record<string, number> = { none: 0, L0: 0, L1: 0, L2: 0, L3: 0, L4: 0 };
  for (const { endpoints } of models)
    for (const { level } of endpoints) {
      const key = level === "UNCLASSIFIED" ? "none" : level;
      counts[key] = (counts[key] ?? 0) + 1;
    }
  return counts;
}

type RuleProps = { readonly draft: Policy; readonly put: (change: Partial<Policy>) => void };

function BlockedProviders({ draft, put }: RuleProps) {
  const { workspace } = useWorkspace();
  const providers = useManage("manageListProviders", { query: { workspace } });
  const blocked = draft.blocked_providers;
  return (
    <CollapsibleCard
      title="Blocked providers"
      description={
        blocked.length === 0 ? "None" : blocked.length === 1 ? `${blocked[0]}` : `${blocked.length} providers`
      }
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
    </CollapsibleCard>
  );
}

function AllowedModels({ draft, put, problem }: RuleProps & { readonly problem: string | undefined }) {
  const choices = useModelChoices();
  const allowed = draft.allowed_models;
  return (
    <CollapsibleCard
      title="Allowed models"
      description={allowed === null ? "All models" : allowed.length === 1 ? "1 model" : `${allowed.length} models`}
    >
      <div className="grid gap-3">
        <Checkbox
          label="Only selected models"
          hint="New catalogue models are excluded until you add them here."
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
    </CollapsibleCard>
  );
}

/** A collapsed card with the current value, for rarely used rules. */
function CollapsibleCard({
  title,
  description,
  children,
}: {
  readonly title: string;
  readonly description: string;
  readonly children: ReactNode;
}) {
  return (
    <details className="group min-w-0 rounded-lg border bg-card">
      <summary className="flex min-h-12 items-center gap-3 px-5 py-3 select-none">
        <Icon name="right" className="text-soft transition-transform group-open:rotate-90" />
        <h2 className="text-sm">{title}</h2>
        <span className="ml-auto min-w-0 truncate text-soft">{description}</span>
      </summary>
      <div className="border-t px-5 py-4">{children}</div>
    </details>
  );
}
