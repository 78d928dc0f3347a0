import type { ReactNode } from "react";
import { percentText } from "../../format/number.ts";
import { AvailabilityBadge } from "../../ui/availability-badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ChoiceList } from "../../ui/choice-list.tsx";
import { Combobox } from "../../ui/combobox.tsx";
import { CountryPicker } from "../../ui/country-picker.tsx";
import { Checkbox, Field, Select, Slider } from "../../ui/field.tsx";
import { Card, Stack } from "../../ui/layout.tsx";
import { LevelScale } from "../../ui/level-scale.tsx";
import { OrderedList } from "../../ui/ordered-list.tsx";
import { useModelChoices } from "../../ui/use-model-choices.ts";
import type { RouterEditing } from "./router-spec.ts";
import {
  CRITERIA,
  CRITERION_LABELS,
  NODE_PREFERENCES,
  type RouterDraft,
  type Spec,
  setWeight,
  type Weights,
} from "./router-spec.ts";
import { CriteriaLegend, WeightBar } from "./weight-bar.tsx";

type ChangeDraft = (change: Partial<RouterDraft>) => void;
type Props = { readonly draft: RouterDraft; readonly changeDraft: ChangeDraft };

export function RouterForm({ editing }: { readonly editing: RouterEditing }) {
  const { draft, setDraft } = editing;
  const changeDraft: ChangeDraft = (change) => setDraft({ ...draft, ...change });
  return (
    <Stack>
      <WeightsCard draft={draft} changeDraft={changeDraft} />
      <Card title="Floors" about="Apply in addition to the workspace policy">
        <div className="grid gap-4">
          <QualityFloor draft={draft} changeDraft={changeDraft} />
          <LevelScale label="Sovereignty floor" value={draft.floor} onChange={(floor) => changeDraft({ floor })} />
        </div>
      </Card>
      <Card title="Compute countries">
        <CountryPicker value={draft.countries} onChange={(countries) => changeDraft({ countries })} />
      </Card>
      <ModelsCard draft={draft} changeDraft={changeDraft} />
      <FallbackCard draft={draft} changeDraft={changeDraft} />
      <NodesCard draft={draft} changeDraft={changeDraft} />
      <ReasoningCard draft={draft} changeDraft={changeDraft} />
    </Stack>
  );
}

const PRESETS: readonly { readonly name: string; readonly weights: Weights }[] = [
  { name: "Balanced", weights: { quality: 34, cost: 33, latency: 33 } },
  { name: "Best quality", weights: { quality: 80, cost: 10, latency: 10 } },
  { name: "Cheapest", weights: { quality: 10, cost: 80, latency: 10 } },
  { name: "Fastest", weights: { quality: 10, cost: 10, latency: 80 } },
];

function WeightsCard({ draft, changeDraft }: Props) {
  return (
    <Card title="Weights" about="Importance of each criterion. The total is always 100%." actions={<CriteriaLegend />}>
      <div className="grid gap-4">
        <div className="flex flex-wrap items-center gap-2">
          {PRESETS.map(({ name, weights }) => (
            <Button key={name} size="small" onClick={() => changeDraft({ weights })}>
              {name}
            </Button>
          ))}
          <WeightBar weights={draft.weights} />
        </div>
        {CRITERIA.map((criterion) => (
          <Field key={criterion} label={CRITERION_LABELS[criterion].name}>
            <Slider
              min={0}
              max={100}
              step={1}
              value={draft.weights[criterion]}
              valueText={percentText(draft.weights[criterion] / 100)}
              onChange={(value) => changeDraft({ weights: setWeight(draft.weights, criterion, value) })}
            />
          </Field>
        ))}
      </div>
    </Card>
  );
}

function QualityFloor({ draft, changeDraft }: Props) {
  const floor = draft.quality_floor;
  return (
    <div className="grid gap-2">
      <Checkbox
        label="Quality floor"
        hint="The minimum quality score. Models with unknown quality are excluded."
        checked={floor !== null}
        onChange={(isOn) => changeDraft({ quality_floor: isOn ? 0.5 : null })}
      />
      {floor !== null && (
        <Field label="Minimum quality" hideLabel>
          <Slider
            min={0}
            max={1}
            step={0.01}
            value={floor}
            valueText={floor.toFixed(2)}
            onChange={(quality_floor) => changeDraft({ quality_floor })}
          />
        </Field>
      )}
    </div>
  );
}

function ModelsCard({ draft, changeDraft }: Props) {
  const choices = useModelChoices();
  return (
    <Card title="Models" about="The models that the router selects from">
      <div className="grid gap-3">
        <Checkbox
          label="Only selected models"
          hint="By default, all models that the policy allows, including new ones."
          checked={draft.models !== null}
          onChange={(isOn) => changeDraft({ models: isOn ? [] : null })}
        />
        {draft.models !== null && (
          <>
            <ChoiceList
              label="Models"
              choices={choices}
              value={draft.models}
              onChange={(models) => changeDraft({ models })}
            />
            {draft.models.length === 0 && (
              <p className="text-xs text-warn">No models selected. The router uses all models.</p>
            )}
          </>
        )}
      </div>
    </Card>
  );
}

function FallbackCard({ draft, changeDraft }: Props) {
  const choices = useModelChoices().filter(({ value }) => !draft.fallback.includes(value));
  return (
    <Card title="Fallback" about="Models tried in this order if no selected model can serve the request">
      <div className="grid gap-3">
        <OrderedList
          label="Fallback models"
          items={draft.fallback}
          onChange={(fallback) => changeDraft({ fallback })}
          empty="No fallback models."
        />
        <Field label="Add model" hideLabel>
          <Combobox
            value=""
            onChange={(model) => changeDraft({ fallback: [...draft.fallback, model] })}
            options={choices}
            renderOption={({ label, availability }) => (
              <span className="flex min-w-0 items-center justify-between gap-3">
                <span className="min-w-0 truncate">{label}</span>
                {availability !== undefined && <AvailabilityBadge of={availability} />}
              </span>
            )}
            placeholder="Add fallback model"
            searchPlaceholder="Search models"
          />
        </Field>
      </div>
    </Card>
  );
}

const NODE_CHOICES = ["first", "only", "fallback"] as const satisfies readonly NonNullable<Spec["nodes"]>[];

function NodesCard({ draft, changeDraft }: Props) {
  return (
    <Card title="Nodes" about="When to use this workspace's own nodes">
      <Field label="Preference" hint="Policy, country and model rules also apply to nodes." className="max-w-md">
        <Select
          value={draft.nodes ?? ""}
          onChange={({ target }) =>
            changeDraft({ nodes: NODE_CHOICES.find((choice) => choice === target.value) ?? null })
          }
          options={[
            { value: "", label: "Score like other endpoints, at no cost" },
            ...NODE_CHOICES.map((value) => ({ value, label: NODE_PREFERENCES[value].name })),
          ]}
        />
      </Field>
    </Card>
  );
}

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const satisfies readonly NonNullable<
  Spec["reasoning_effort"]
>[];

function ReasoningCard({ draft, changeDraft }: Props): ReactNode {
  return (
    <Card title="Reasoning">
      <Field
        label="Effort"
        hint="Default for models with configurable reasoning effort. A value in the request takes precedence."
        className="max-w-xs"
      >
        <Select
          value={draft.reasoning_effort ?? ""}
          onChange={({ target }) =>
            changeDraft({ reasoning_effort: EFFORTS.find((effort) => effort === target.value) ?? null })
          }
          options={[
            { value: "", label: "Provider default" },
            ...EFFORTS.map((effort) => ({ value: effort, label: effort })),
          ]}
        />
      </Field>
    </Card>
  );
}
