import { type ReactNode, type SyntheticEvent, useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManageMutation } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { DecimalInput } from "../../ui/decimal-input.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Checkbox, Field, Input, Textarea } from "../../ui/field.tsx";
import { Callout, Card, Stack } from "../../ui/layout.tsx";
import { SegmentedControl } from "../../ui/tabs.tsx";
import { toast } from "../../ui/toast.tsx";
import { useWorkspace } from "../../url-state.ts";
import { type AlertDraft, type AlertRules, alertRulesBody, draftOf, type MailTo } from "./alert-draft.ts";

type SavedAlerts = ApiResponse<"managePutAlerts">;

type Props = {
  readonly rules: AlertRules;
  /** The secret of a new webhook, which only this response contains. */
  readonly onSecret: (secret: string) => void;
  readonly webhookActions: ReactNode;
};

export function RulesForm({ rules, onSecret, webhookActions }: Props) {
  const { workspace } = useWorkspace();
  const [draft, setDraft] = useState<AlertDraft>(() => draftOf(rules));
  const change = (part: Partial<AlertDraft>) => setDraft({ ...draft, ...part });
  const save = useManageMutation("managePutAlerts", {
    onDone: (saved: SavedAlerts) => {
      setDraft(draftOf(saved));
      toast(rules.enabled ? "Alerts saved" : "Alerts are on");
      if (saved.webhook_secret !== null) onSecret(saved.webhook_secret);
    },
  });
  const param = save.error?.param ?? "";
  const fieldError = (name: string) =>
    param === name || param.startsWith(`${name}.`) ? save.error?.message : undefined;
  const hasFieldError = ["low_balance", "limit_percents", "mail_to", "webhook_url"].some(
    (name) => fieldError(name) !== undefined,
  );
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    save.mutate({ params: { workspace }, body: alertRulesBody(draft) });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <div className="grid gap-5 lg:grid-cols-2">
          <AlertConditions draft={draft} change={change} fieldError={fieldError} currency={rules.currency} />
          <AlertDestinations
            draft={draft}
            change={change}
            fieldError={fieldError}
            rules={rules}
            webhookActions={webhookActions}
          />
        </div>
        {!hasFieldError && <ErrorNote error={save.error} />}
        <div>
          <Button type="submit" variant="primary" busy={save.isPending}>
            {rules.enabled ? "Save alerts" : "Turn on alerts"}
          </Button>
        </div>
      </Stack>
    </form>
  );
}

type AlertFieldsProps = {
  readonly draft: AlertDraft;
  readonly change: (part: Partial<AlertDraft>) => void;
  readonly fieldError: (name: string) => string | undefined;
};

function AlertConditions({ draft, change, fieldError, currency }: AlertFieldsProps & { readonly currency: string }) {
  return (
    <Card title="Notify when">
      <div className="grid gap-4">
        <Field
          label={`Balance below (${currency})`}
          hint="Leave empty to disable. Sent once each time the balance drops below this amount."
          error={fieldError("low_balance")}
        >
          <DecimalInput empty="Never" value={draft.lowBalance} onChange={(lowBalance) => change({ lowBalance })} />
        </Field>
        <Field
          label="Spend limit usage (%)"
          hint="Whole numbers from 1 to 100, for example 80, 100. Leave empty to disable. Each is sent once per day or month."
          error={fieldError("limit_percents")}
        >
          <Input
            value={draft.percents}
            placeholder="Never"
            onChange={(event) => change({ percents: event.target.value })}
          />
        </Field>
        <Checkbox
          label="A provider rejects one of our keys"
          hint="The key was revoked at the provider or exceeded its quota."
          checked={draft.credentialRefused}
          onChange={(credentialRefused) => change({ credentialRefused })}
        />
      </div>
    </Card>
  );
}

const MAIL_OPTIONS = [
  { value: "admins", label: "Owners and admins" },
  { value: "named", label: "Specific addresses" },
  { value: "none", label: "None" },
] as const;

const parseMailTo = (value: string): MailTo => MAIL_OPTIONS.find((one) => one.value === value)?.value ?? "admins";

type AlertDestinationsProps = AlertFieldsProps & { readonly rules: AlertRules; readonly webhookActions: ReactNode };

function AlertDestinations({ draft, change, fieldError, rules, webhookActions }: AlertDestinationsProps) {
  return (
    <Card title="Send to">
      <div className="grid gap-4">
        <div className="grid gap-2">
          <p className="font-medium">Email</p>
          <div className="overflow-x-auto">
            <SegmentedControl
              label="Email"
              options={MAIL_OPTIONS}
              value={draft.mailTo}
              onChange={(value) => change({ mailTo: parseMailTo(value) })}
            />
          </div>
          {draft.mailTo === "admins" && rules.recipients.length > 0 && (
            <p className="text-xs break-words text-soft">Currently: {rules.recipients.join(", ")}</p>
          )}
          {draft.mailTo === "named" && (
            <Field label="Email addresses, one per line" error={fieldError("mail_to")}>
              <Textarea
                rows={3}
                value={draft.addresses}
                onChange={(event) => change({ addresses: event.target.value })}
              />
            </Field>
          )}
          {!rules.mail_ready && draft.mailTo !== "none" && (
            <Callout tone="warn" title="Email isn't set up">
              The operator needs to set GATEWAY_SMTP_URL and GATEWAY_MAIL_FROM. Until then, use a webhook.
            </Callout>
          )}
        </div>
        <div className="grid gap-2">
          <Field
            label="Webhook URL"
            optional
            hint="A public HTTPS URL. Messages are signed; the secret is shown once when you save the webhook."
            error={fieldError("webhook_url")}
          >
            <Input
              type="url"
              value={draft.webhook}
              placeholder="https://hooks.example.eu/gateway"
              onChange={(event) => change({ webhook: event.target.value })}
            />
          </Field>
          {webhookActions}
        </div>
      </div>
    </Card>
  );
}
