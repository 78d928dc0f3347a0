import { compactText } from "../../format/number.ts";
import { AvailabilityBadge } from "../../ui/availability-badge.tsx";
import { Button, IconButton } from "../../ui/button.tsx";
import { Combobox } from "../../ui/combobox.tsx";
import { Field } from "../../ui/field.tsx";
import { Callout } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { AvailabilityAction } from "../catalogue/availability.tsx";
import { Countries, Levels, MainPrice } from "../catalogue/parts.tsx";
import { type ModelOption, useModelDetails } from "./callable-models.ts";
import { COMPARED_MAX } from "./settings.ts";
import type { Playground } from "./use-playground.ts";

/** One picker per compared model. */
export function ModelFields({ playground }: { readonly playground: Playground }) {
  const { models, options, isPending, problem, unavailable } = playground;
  const { isRunning } = playground.columns;
  const isComparing = models.length > 1;
  return (
    <div className="grid gap-2">
      {models.map((model, column) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a column is its position
        <div key={column} className="flex items-end gap-1">
          <Field
            label={isComparing ? `Model ${column + 1}` : "Model"}
            error={column === 0 && problem?.at === "model" ? problem.message : undefined}
            className="flex-1"
          >
            <Combobox
              options={isPending ? undefined : options}
              value={model}
              onChange={(value) => value !== "" && playground.changeModel(column, value)}
              placeholder="Select a model"
              searchPlaceholder="Search by name, level or country"
              renderOption={(option) => <ModelOptionText option={option} />}
              footer="Price per 1M tokens, input / output, of the cheapest endpoint."
              className="font-mono text-[0.8125rem]"
            />
          </Field>
          {isComparing && (
            <IconButton
              icon="close"
              label={`Remove model ${column + 1}`}
              disabled={isRunning}
              onClick={() => playground.removeModel(column)}
            />
          )}
        </div>
      ))}
      {models.length < COMPARED_MAX && (
        <div>
          <Button size="small" icon="columns" disabled={isPending || isRunning} onClick={playground.addModel}>
            {isComparing ? "Add model" : "Compare models"}
          </Button>
        </div>
      )}
      {unavailable.map((id) => (
        <UnavailableModel key={id} id={id} workspace={playground.workspace} />
      ))}
      {!isPending && !options.some(({ model }) => model?.available === true) && (
        <NoModels to={playground.at("policy")} />
      )}
    </div>
  );
}

/** ID and name, then level, countries, price and context. */
function ModelOptionText({ option: { label, description, model } }: { readonly option: ModelOption }) {
  return (
    <div className="grid gap-0.5 py-0.5">
      <div className="flex items-baseline justify-between gap-3">
        <span className="min-w-0 truncate font-mono text-[0.8125rem]">{label}</span>
        {model?.available === false && <AvailabilityBadge of={model} />}
      </div>
      {model === undefined ? (
        <div className="truncate text-xs text-soft">{description ?? "Router"}</div>
      ) : (
        <div className="flex flex-wrap items-center gap-x-2 gap-y-0.5 text-xs text-soft">
          <span className="truncate">{description}</span>
          <Levels levels={model.levels} />
          <Countries codes={model.countries} />
          <MainPrice price={model.lowest_price} />
          {model.context_tokens !== null && <span>{compactText(model.context_tokens)} context</span>}
        </div>
      )}
    </div>
  );
}

function UnavailableModel({ id, workspace }: { readonly id: string; readonly workspace: string }) {
  const model = useModelDetails(workspace, id);
  if (model === undefined) return null;
  return (
    <Callout
      tone="warn"
      title={`${model.name} isn't available`}
      action={<AvailabilityAction model={model} workspace={workspace} size="small" />}
    >
      {model.unavailable?.code === "not_connected"
        ? `No connected provider serves it. Connect one of: ${model.providers.join(", ")}.`
        : (model.unavailable?.reason ?? "")}
    </Callout>
  );
}

function NoModels({ to }: { readonly to: string }) {
  return (
    <Callout
      tone="warn"
      title="No models available"
      action={
        <LinkButton to={to} size="small">
          View policy
        </LinkButton>
      }
    >
      No connected provider serves this surface, or your policy excludes all endpoints.
    </Callout>
  );
}
