import type { ReactNode } from "react";
import type { ApiError } from "../../api/error.ts";
import { Checkbox, Field, Input, Select, Textarea } from "../../ui/field.tsx";
import { LimitFields } from "../limits/edit-limits.tsx";
import { fieldErrorOf } from "./field-error.ts";
import { SCOPES } from "./key.ts";
import type { KeyDraft } from "./key-draft.ts";
import { KeyPolicyFields } from "./key-policy-fields.tsx";

type Props = {
  readonly workspace: string;
  readonly draft: KeyDraft;
  readonly change: (change: Partial<KeyDraft>) => void;
  readonly error: ApiError | null;
  /** Limits and policy are for admins. */
  readonly isAdmin: boolean;
  readonly currency: string;
  readonly expiries: readonly { readonly value: string; readonly label: string }[];
};

export const NEW_EXPIRIES = [
  { value: "never", label: "Never" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In 1 year" },
  { value: "date", label: "Custom date" },
] as const;

/** Fields shared by the create and edit forms. */
export function KeySettingsFields(props: Props) {
  const { workspace, draft, change, error, isAdmin, currency } = props;
  return (
    <>
      <Section title="Limits">
        {isAdmin && (
          <LimitFields
            currency={currency}
            day={draft.spendLimits.day}
            month={draft.spendLimits.month}
            setDay={(day) => change({ spendLimits: { ...draft.spendLimits, day } })}
            setMonth={(month) => change({ spendLimits: { ...draft.spendLimits, month } })}
            fieldErrors={{
              day: fieldErrorOf(error, "spend_limits.day"),
              month: fieldErrorOf(error, "spend_limits.month"),
            }}
          />
        )}
        <div className="grid gap-x-3 gap-y-4 sm:grid-cols-2">
          {isAdmin && <RateLimit {...props} />}
          <Expiry {...props} />
        </div>
      </Section>
      <Section title="Permissions" about="What the key may call. Leave empty for all.">
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
        <Field
          label="IP allowlist"
          hint="IP addresses or CIDR blocks such as 203.0.113.0/24, one per line. Leave empty for all."
          error={fieldErrorOf(error, "ip_allowlist")}
        >
          <Textarea
            mono
            rows={2}
            value={draft.addresses}
            onChange={(event) => change({ addresses: event.target.value })}
            spellCheck={false}
          />
        </Field>
      </Section>
      {isAdmin && (
        <Section
          title="Key policy"
          about="What the key may reach, in addition to the workspace policy (it can only be stricter), and how it treats parameters."
        >
          <KeyPolicyFields
            workspace={workspace}
            policy={draft.policy}
            error={error}
            change={(policy) => change({ policy: { ...draft.policy, ...policy } })}
          />
        </Section>
      )}
    </>
  );
}

function Section({
  title,
  about,
  children,
}: {
  readonly title: string;
  readonly about?: string | undefined;
  readonly children: ReactNode;
}) {
  return (
    <fieldset className="grid gap-4 border-t pt-4">
      {/* A legend can't be a grid item. */}
      <legend className="float-left w-full font-semibold">
        {title}
        {about !== undefined && <span className="block text-xs font-normal text-soft">{about}</span>}
      </legend>
      {children}
    </fieldset>
  );
}

function RateLimit({ draft, change, error }: Props) {
  return (
    <Field
      label="Rate limit (RPM)"
      hint="Leave empty for the default of the environment"
      error={fieldErrorOf(error, "rpm")}
    >
      <Input
        type="number"
        min={1}
        max={1_000_000}
        inputMode="numeric"
        placeholder="Default"
        value={draft.rpm}
        onChange={(event) => change({ rpm: event.target.value })}
      />
    </Field>
  );
}

function Expiry({ draft, change, error, expiries }: Props) {
  return (
    <>
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
    </>
  );
}
