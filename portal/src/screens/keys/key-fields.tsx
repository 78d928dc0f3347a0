import type { ApiError } from "../../api/error.ts";
import { Checkbox, Field, Input, Select, Textarea } from "../../ui/field.tsx";
import type { KeyDraft, PolicyDraft } from "./draft.ts";
import { SCOPES } from "./key.ts";

type Props = {
  readonly draft: KeyDraft;
  readonly change: (change: Partial<KeyDraft>) => void;
  readonly error: ApiError | null;
  /** Speed and policy are for admins to set. */
  readonly isAdmin: boolean;
  readonly expiries: readonly { readonly value: string; readonly label: string }[];
};

/** What a refusal says of one field. */
export function wrongIn(error: ApiError | null, ...params: readonly string[]): string | undefined {
  const isHere = error !== null && error.param !== null && params.some((param) => error.param?.startsWith(param));
  return isHere ? error.message : undefined;
}

export const NEW_EXPIRIES = [
  { value: "never", label: "Never" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "date", label: "After a day of my choice" },
] as const;

/** The settings that a new key and a changed one share. */
export function KeySettingsFields(props: Props) {
  const { draft, change, error, isAdmin } = props;
  return (
    <>
      <Expiry {...props} />
      <fieldset className="grid gap-2">
        <legend className="mb-1 font-medium">
          What it may call
          <span className="block text-xs font-normal text-soft">Nothing ticked: everything.</span>
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
        label="From which addresses"
        hint="IP addresses or blocks such as 203.0.113.0/24, one on each line. Empty: from everywhere."
        error={wrongIn(error, "ip_allowlist")}
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
          label="Requests a minute"
          hint="Empty: the usual number of its environment."
          error={wrongIn(error, "rpm")}
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
      <Field label="Ends" error={wrongIn(error, "expires_at")}>
        <Select
          value={draft.expiry}
          onChange={(event) => change({ expiry: event.target.value })}
          options={expiries.map(({ value, label }) => ({ value, label }))}
        />
      </Field>
      {draft.expiry === "date" && (
        <Field label="Last day" hint="It works until the end of this day.">
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
  { value: "none", label: "As the workspace" },
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
  const isWrong = error?.param?.startsWith("policy") === true;
  return (
    <details className="rounded-md border" open={isWrong || undefined}>
      <summary className="rounded-md px-4 py-2.5 font-medium hover:bg-hover">
        A policy of its own
        <span className="block text-xs font-normal text-soft">
          On top of the workspace's: it can only be stricter, never looser.
        </span>
      </summary>
      <div className="grid gap-4 border-t px-4 py-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Sovereignty" error={wrongIn(error, "policy.floor")}>
            <Select value={policy.floor} onChange={(event) => change({ floor: event.target.value })} options={FLOORS} />
          </Field>
          <Field
            label="Only these countries"
            hint="Such as DE, FR."
            error={wrongIn(error, "policy.countries")}
            optional
          >
            <Input value={policy.countries} onChange={(event) => change({ countries: event.target.value })} />
          </Field>
        </div>
        <Checkbox
          label="Zero data retention"
          hint="Only where nothing is kept."
          checked={policy.zeroDataRetention}
          onChange={(zeroDataRetention) => change({ zeroDataRetention })}
        />
        <Checkbox
          label="No training"
          hint="Only where nothing is trained on."
          checked={policy.noTraining}
          onChange={(noTraining) => change({ noTraining })}
        />
        <Field
          label="Only these models"
          hint="Ids of the catalogue, one on each line."
          error={wrongIn(error, "policy.allowed_models")}
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
          label="Never these providers"
          hint="Their short names, one on each line."
          error={wrongIn(error, "policy.blocked_providers")}
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
