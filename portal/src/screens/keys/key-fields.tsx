import type { ApiError } from "../../api/error.ts";
import { Checkbox, Field, Input, Select, Textarea } from "../../ui/field.tsx";
import { SCOPES } from "./key.ts";
import type { KeyDraft, PolicyDraft } from "./key-draft.ts";

type Props = {
  readonly draft: KeyDraft;
  readonly change: (change: Partial<KeyDraft>) => void;
  readonly error: ApiError | null;
  /** Rate limit and policy are for admins. */
  readonly isAdmin: boolean;
  readonly expiries: readonly { readonly value: string; readonly label: string }[];
};

/** The error message of one field. */
export function fieldErrorOf(error: ApiError | null, ...params: readonly string[]): string | undefined {
  const isAffected = error !== null && error.param !== null && params.some((param) => error.param?.startsWith(param));
  return isAffected ? error.message : undefined;
}

export const NEW_EXPIRIES = [
  { value: "never", label: "Never" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In 1 year" },
  { value: "date", label: "Custom date" },
] as const;

/** Fields shared by the create and edit forms. */
export function KeySettingsFields(props: Props) {
  const { draft, change, error, isAdmin } = props;
  return (
    <>
      <Expiry {...props} />
      <fieldset className="grid gap-2">
        <legend className="mb-1 font-medium">
          Permissions
          <span className="block text-xs font-normal text-soft">Leave empty for all.</span>
        </legend>
        <div className="grid gap-x-4 gap-y-1.5 sm:grid-cols-2">
          {SCOPES.map(({ value, label, hint }) => (
            <Checkbox
              key={value}
              label={label}
              hint={hint}
              checked={draft.scopes.includes(value)}
              onChange={(isOn) =>
                change({ scopes: isOn ? [...draft.scopes, value] : draft.scopes.filter((scope) => scope !== value) })
              }
            />
          ))}
        </div>
      </fieldset>
      <Field
        label="IP allowlist"
        hint="IP addresses or CIDR blocks such as 203.0.113.0/24, one per line. Leave empty to allow all."
        error={fieldErrorOf(error, "ip_allowlist")}
        optional
      >
        <Textarea
          mono
          rows={2}
          value={draft.addresses}
          onChange={(event) => change({ addresses: event.target.value })}
          spellCheck={false}
        />
      </Field>
      {isAdmin && (
        <Field
          label="Rate limit (RPM)"
          hint="Requests per minute. Leave empty for the default of the environment."
          error={fieldErrorOf(error, "rpm")}
          optional
        >
          <Input
            type="number"
            min={1}
            max={1_000_000}
            inputMode="numeric"
            value={draft.rpm}
            onChange={(event) => change({ rpm: event.target.value })}
          />
        </Field>
      )}
      {isAdmin && (
        <PolicyFields
          policy={draft.policy}
          error={error}
          change={(policy) => change({ policy: { ...draft.policy, ...policy } })}
        />
      )}
    </>
  );
}

function Expiry({ draft, change, error, expiries }: Props) {
  return (
    <div className="grid gap-x-4 gap-y-4 sm:grid-cols-2">
      <Field label="Expires" error={fieldErrorOf(error, "expires_at")}>
        <Select
          value={draft.expiry}
          onChange={(event) => change({ expiry: event.target.value })}
          options={expiries.map(({ value, label }) => ({ value, label }))}
        />
      </Field>
      {draft.expiry === "date" && (
        <Field label="Last day" hint="The key works until the end of this day.">
          <Input
            type="date"
            required
            value={draft.lastDay}
            onChange={(event) => change({ lastDay: event.target.value })}
          />
        </Field>
      )}
    </div>
  );
}

const FLOORS = [
  { value: "none", label: "Same as workspace" },
  ...["L0", "L1", "L2", "L3", "L4"].map((level) => ({ value: level, label: `At least ${level}` })),
];

function PolicyFields({
  policy,
  error,
  change,
}: {
  readonly policy: PolicyDraft;
  readonly error: ApiError | null;
  readonly change: (policy: Partial<PolicyDraft>) => void;
}) {
  const hasError = error?.param?.startsWith("policy") === true;
  return (
    <details className="rounded-md border" open={hasError || undefined}>
      <summary className="rounded-md px-4 py-2.5 font-medium hover:bg-hover">
        Key policy
        <span className="block text-xs font-normal text-soft">
          Applies in addition to the workspace policy and can only be stricter.
        </span>
      </summary>
      <div className="grid gap-4 border-t px-4 py-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Sovereignty floor" error={fieldErrorOf(error, "policy.floor")}>
            <Select value={policy.floor} onChange={(event) => change({ floor: event.target.value })} options={FLOORS} />
          </Field>
          <Field
            label="Allowed countries"
            hint="Country codes, for example DE, FR."
            error={fieldErrorOf(error, "policy.countries")}
            optional
          >
            <Input value={policy.countries} onChange={(event) => change({ countries: event.target.value })} />
          </Field>
        </div>
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
        <Field
          label="Allowed models"
          hint="Model IDs, one per line."
          error={fieldErrorOf(error, "policy.allowed_models")}
          optional
        >
          <Textarea
            mono
            rows={2}
            value={policy.models}
            spellCheck={false}
            onChange={(event) => change({ models: event.target.value })}
          />
        </Field>
        <Field
          label="Blocked providers"
          hint="Provider slugs, one per line."
          error={fieldErrorOf(error, "policy.blocked_providers")}
          optional
        >
          <Textarea
            mono
            rows={2}
            value={policy.blocked}
            spellCheck={false}
            onChange={(event) => change({ blocked: event.target.value })}
          />
        </Field>
      </div>
    </details>
  );
}
