import type { ReactNode } from "react";
import { percentText } from "../../format/number.ts";
import { Button } from "../../ui/button.tsx";
import { ChoiceList } from "../../ui/choice-list.tsx";
import { CountryPicker } from "../../ui/country-picker.tsx";
import { Checkbox, Field, Select, Slider } from "../../ui/field.tsx";
import { Card, Stack } from "../../ui/layout.tsx";
import { LevelScale } from "../../ui/level-scale.tsx";
import { OrderedList } from "../../ui/ordered-list.tsx";
import { useModelChoices } from "../../ui/use-model-choices.ts";
import type { Edited } from "./spec.ts";
import { type Draft, linked, NODE_WORDS, PART_WORDS, PARTS, type Spec, type Weights } from "./spec.ts";
import { PartLegend, WeightBar } from "./weight-bar.tsx";

type Put = (change: Partial<Draft>) => void;
type Props = { readonly draft: Draft; readonly put: Put };

export function DesignForm({ edited }: { readonly edited: Edited }) {
  const { draft, setDraft } = edited;
  const put: Put = (change) => setDraft({ ...draft, ...change });
  return (
    <Stack>
      <WeightsCard draft={draft} put={put} />
      <Card title="Floors" about="On top of the workspace's policy: a router is never less strict.">
        <div className="grid gap-4">
          <QualityFloor draft={draft} put={put} />
          <LevelScale label="Sovereignty floor" value={draft.floor} onChange={(floor) => put({ floor })} />
        </div>
      </Card>
      <Card title="Compute countries">
        <CountryPicker value={draft.countries} onChange={(countries) => put({ countries })} />
      </Card>
      <ModelsCard draft={draft} put={put} />
      <FallbackCard draft={draft} put={put} />
      <NodesCard draft={draft} put={put} />
      <Effort draft={draft} put={put} />
    </Stack>
  );
}

const PRESETS: readonly { readonly name: string; readonly weights: Weights }[] = [
  { name: "Even", weights: { quality: 34, cost: 33, latency: 33 } },
  { name: "Best answers", weights: { quality: 80, cost: 10, latency: 10 } },
  { name: "Cheapest", weights: { quality: 10, cost: 80, latency: 10 } },
  { name: "Fastest", weights: { quality: 10, cost: 10, latency: 80 } },
];

function WeightsCard({ draft, put }: Props) {
  return (
    <Card title="Weights" about="How much each part counts. Together they are always 100." actions={<PartLegend />}>
      <div className="grid gap-4">
        <div className="flex flex-wrap items-center gap-2">
          {PRESETS.map(({ name, weights }) => (
            <Button key={name} size="small" onClick={() => put({ weights })}>
              {name}
            </Button>
          ))}
          <WeightBar weights={draft.weights} />
        </div>
        {PARTS.map((part) => (
          <Field key={part} label={PART_WORDS[part].name}>
            <Slider
              min={0}
              max={100}
              step={1}
              value={draft.weights[part]}
              said={percentText(draft.weights[part] / 100)}
              onChange={(value) => put({ weights: linked(draft.weights, part, value) })}
            />
          </Field>
        ))}
      </div>
    </Card>
  );
}

function QualityFloor({ draft, put }: Props) {
  const floor = draft.quality_floor;
  return (
    <div className="grid gap-2">
      <Checkbox
        label="Quality floor"
        hint="The least quality score of the catalogue. A model whose quality is not known is below any."
        checked={floor !== null}
        onChange={(isOn) => put({ quality_floor: isOn ? 0.5 : null })}
      />
      {floor !== null && (
        <Field label="Least quality" hideLabel>
          <Slider
            min={0}
            max={1}
            step={0.01}
            value={floor}
            said={floor.toFixed(2)}
            onChange={(quality_floor) => put({ quality_floor })}
          />
        </Field>
      )}
    </div>
  );
}

function ModelsCard({ draft, put }: Props) {
  const choices = useModelChoices();
  return (
    <Card title="Models" about="What it chooses from.">
      <div className="grid gap-3">
        <Checkbox
          label="Only chosen models"
          hint="Otherwise every model that the policy allows, new ones too."
          checked={draft.models !== null}
          onChange={(isOn) => put({ models: isOn ? [] : null })}
        />
        {draft.models !== null && (
          <>
            <ChoiceList label="Models" choices={choices} value={draft.models} onChange={(models) => put({ models })} />
            {draft.models.length === 0 && (
              <p className="text-xs text-warn">While nothing is chosen it chooses from every model.</p>
            )}
          </>
        )}
      </div>
    </Card>
  );
}

function FallbackCard({ draft, put }: Props) {
  const choices = useModelChoices().filter(({ value }) => !draft.fallback.includes(value));
  return (
    <Card title="Fallback" about="Models that are tried in this order when nothing of the choice could serve.">
      <div className="grid gap-3">
        <OrderedList
          label="Fallback models"
          items={draft.fallback}
          onChange={(fallback) => put({ fallback })}
          empty="None: a request that nobody serves fails."
        />
        <Field label="Add a model" hideLabel>
          <Select
            value=""
            onChange={(event) => put({ fallback: [...draft.fallback, event.target.value] })}
            options={[
              { value: "", label: "Add a model to fall back on", disabled: true },
              ...choices.map(({ value, label }) => ({ value, label })),
            ]}
          />
        </Field>
      </div>
    </Card>
  );
}

const NODE_CHOICES = ["first", "only", "fallback"] as const satisfies readonly NonNullable<Spec["nodes"]>[];

function NodesCard({ draft, put }: Props) {
  return (
    <Card title="Own nodes" about="When machines of this workspace's own are asked.">
      <Field
        label="Preference"
        hint="Policy, countries and models hold for nodes as for everybody."
        className="max-w-md"
      >
        <Select
          value={draft.nodes ?? ""}
          onChange={({ target }) => put({ nodes: NODE_CHOICES.find((choice) => choice === target.value) ?? null })}
          options={[
            { value: "", label: "Scored like others, at price zero" },
            ...NODE_CHOICES.map((value) => ({ value, label: NODE_WORDS[value].name })),
          ]}
        />
      </Field>
    </Card>
  );
}

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const satisfies readonly NonNullable<
  Spec["reasoning_effort"]
>[];

function Effort({ draft, put }: Props): ReactNode {
  return (
    <Card title="Reasoning">
      <Field
        label="Effort"
        hint="For models that can be told how hard to think, when the caller says nothing of it."
        className="max-w-xs"
      >
        <Select
          value={draft.reasoning_effort ?? ""}
          onChange={({ target }) =>
            put({ reasoning_effort: EFFORTS.find((effort) => effort === target.value) ?? null })
          }
          options={[
            { value: "", label: "As the provider does" },
            ...EFFORTS.map((effort) => ({ value: effort, label: effort })),
          ]}
        />
      </Field>
    </Card>
  );
}
