import type { ApiError } from "../../api/error.ts";
import { useManage } from "../../api/hooks.ts";
import { countryName } from "../../format/country.ts";
import { type ComboboxOption, MultiCombobox } from "../../ui/combobox.tsx";
import { regionsWith } from "../../ui/countries.ts";
import { Checkbox, Field, Select } from "../../ui/field.tsx";
import { useModelChoices } from "../../ui/use-model-choices.ts";
import { fieldErrorOf } from "./field-error.ts";
import type { PolicyDraft } from "./key-draft.ts";

const FLOORS = [
  { value: "none", label: "Same as workspace" },
  ...["L0", "L1", "L2", "L3", "L4"].map((level) => ({ value: level, label: `At least ${level}` })),
];

const PARAMETERS = [
  { value: "workspace", label: "Same as workspace" },
  { value: "strict", label: "Strict" },
  { value: "lenient", label: "Lenient" },
];

type Props = {
  readonly workspace: string;
  readonly policy: PolicyDraft;
  readonly error: ApiError | null;
  readonly change: (policy: Partial<PolicyDraft>) => void;
};

/** What a key may reach. */
export function KeyPolicyFields({ workspace, policy, error, change }: Props) {
  const models = useModelChoices();
  const providers = useManage("manageListProviders", { query: { workspace } }).data?.data;
  return (
    <div className="grid gap-x-3 gap-y-4 sm:grid-cols-2">
      <Field label="Sovereignty floor" error={fieldErrorOf(error, "policy.floor")}>
        <Select value={policy.floor} onChange={(event) => change({ floor: event.target.value })} options={FLOORS} />
      </Field>
      <Field label="Allowed countries" hint="Leave empty for all" error={fieldErrorOf(error, "policy.countries")}>
        <MultiCombobox
          value={policy.countries}
          onChange={(countries) => change({ countries })}
          options={countryOptions(policy.countries)}
          placeholder="All countries"
          searchPlaceholder="Search countries"
        />
      </Field>
      <Field label="Allowed models" hint="Leave empty for all" error={fieldErrorOf(error, "policy.allowed_models")}>
        <MultiCombobox
          value={policy.models}
          onChange={(chosen) => change({ models: chosen })}
          options={models}
          placeholder="All models"
          searchPlaceholder="Search models"
        />
      </Field>
      <Field
        label="Blocked providers"
        hint="Leave empty for none"
        error={fieldErrorOf(error, "policy.blocked_providers")}
      >
        <MultiCombobox
          value={policy.blocked}
          onChange={(blocked) => change({ blocked })}
          options={providers?.map(({ slug, name }) => ({ value: slug, label: name, description: slug }))}
          placeholder="None"
          searchPlaceholder="Search providers"
        />
      </Field>
      <Checkbox
        label="Zero data retention"
        hint="Only endpoints that retain no data."
        checked={policy.zeroDataRetention}
        onChange={(zeroDataRetention) => change({ zeroDataRetention })}
      />
      <Checkbox
        label="No training"
        hint="Only endpoints that don't train on data."
        checked={policy.noTraining}
        onChange={(noTraining) => change({ noTraining })}
      />
      <Field label="Parameters" hint="Lenient accepts values that request nothing, such as store: false">
        <Select
          value={policy.parameters}
          onChange={(event) => change({ parameters: event.target.value })}
          options={PARAMETERS}
        />
      </Field>
    </div>
  );
}

function countryOptions(current: readonly string[]): readonly ComboboxOption[] {
  return regionsWith(current).flatMap(({ name, countries }) =>
    countries.map((code) => ({ value: code, label: countryName(code), group: name, searchTerms: code })),
  );
}
