import { type ReactNode, type SyntheticEvent, useState } from "react";
import { useWorkspace } from "../../address.ts";
import type { Answer } from "../../api/client.ts";
import { useChange } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { DecimalInput } from "../../ui/decimal-input.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Checkbox, Field, Input, Textarea } from "../../ui/field.tsx";
import { Callout, Card, Stack } from "../../ui/layout.tsx";
import { Segments } from "../../ui/tabs.tsx";
import { toast } from "../../ui/toast.tsx";
import { type Draft, draftOf, type MailTo, putOf, type Rules } from "./draft.ts";

type Saved = Answer<"managePutAlerts">;

type Props = {
  readonly rules: Rules;
  /** The secret of a new webhook, which is in this answer and nowhere else. */
  readonly onSecret: (secret: string) => void;
  readonly webhookActions: ReactNode;
};

/** What the workspace is told of, and where. */
export function RulesForm({ rules, onSecret, webhookActions }: Props) {
  const { workspace } = useWorkspace();
  const [draft, setDraft] = useState<Draft>(() => draftOf(rules));
  const change = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
  const save = useChange("managePutAlerts", {
    done: (saved: Saved) => {
      setDraft(draftOf(saved));
      toast(rules.enabled ? "The alerts are saved." : "Alerts are on.");
      if (saved.webhook_secret !== null) onSecret(saved.webhook_secret);
    },
  });
  const param = save.error?.param ?? "";
  const wrong = (name: string) => (param === name || param.startsWith(`${name}.`) ? save.error?.message : undefined);
  const isPlaced = ["low_balance", "limit_percents", "mail_to", "webhook_url"].some(
    (name) => wrong(name) !== undefined,
  );
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    save.mutate({ params: { workspace }, body: putOf(draft) });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <div className="grid gap-5 lg:grid-cols-2">
          <Told draft={draft} change={change} wrong={wrong} currency={rules.currency} />
          <Where draft={draft} change={change} wrong={wrong} rules={rules} webhookActions={webhookActions} />
        </div>
        {!isPlaced && <ErrorNote error={save.error} />}
        <div>
          <Button type="submit" look="primary" busy={save.isPending}>
            {rules.enabled ? "Save" : "Switch alerts on"}
          </Button>
        </div>
      </Stack>
    </form>
  );
}

type PartProps = {
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  readonly wrong: (name: string) => string | undefined;
};

function Told({ draft, change, wrong, currency }: PartProps & { readonly currency: string }) {
  return (
    <Card title="Tell us when">
      <div className="grid gap-4">
        <Field
          label={`The balance is below, in ${currency}`}
          hint="Empty: never. Told once, and again after the balance was back above it."
          error={wrong("low_balance")}
        >
          <DecimalInput empty="never" value={draft.lowBalance} onChange={(lowBalance) => change({ lowBalance })} />
        </Field>
        <Field
          label="These shares of a spend limit are spent, in percent"
          hint="Whole numbers from 1 to 100, such as 80, 100. Empty: never. Told once in each day or month."
          error={wrong("limit_percents")}
        >
          <Input
            value={draft.percents}
            placeholder="never"
            onChange={(event) => change({ percents: event.target.value })}
          />
        </Field>
        <Checkbox
          label="A provider refuses a key of our own"
          hint="The key was revoked there, or is over its quota."
          checked={draft.credentialRefused}
          onChange={(credentialRefused) => change({ credentialRefused })}
        />
      </div>
    </Card>
  );
}

const MAIL = [
  { value: "admins", label: "Owners and admins" },
  { value: "named", label: "These addresses" },
  { value: "nobody", label: "Nobody" },
] as const;

const mailOf = (value: string): MailTo => MAIL.find((one) => one.value === value)?.value ?? "admins";

type WhereProps = PartProps & { readonly rules: Rules; readonly webhookActions: ReactNode };

function Where({ draft, change, wrong, rules, webhookActions }: WhereProps) {
  return (
    <Card title="Tell it there">
      <div className="grid gap-4">
        <div className="grid gap-2">
          <p className="font-medium">Mail to</p>
          <div className="overflow-x-auto">
            <Segments
              label="Mail to"
              options={MAIL}
              value={draft.mailTo}
              onChange={(value) => change({ mailTo: mailOf(value) })}
            />
          </div>
          {draft.mailTo === "admins" && rules.recipients.length > 0 && (
            <p className="text-xs break-words text-soft">Now: {rules.recipients.join(", ")}</p>
          )}
          {draft.mailTo === "named" && (
            <Field label="Addresses, one on each line" error={wrong("mail_to")}>
              <Textarea
                rows={3}
                value={draft.addresses}
                onChange={(event) => change({ addresses: event.target.value })}
              />
            </Field>
          )}
          {!rules.mail_ready && draft.mailTo !== "nobody" && (
            <Callout tone="warn" title="No mail is sent from here yet">
              The operator has to set GATEWAY_SMTP_URL and GATEWAY_MAIL_FROM. Use a webhook until then.
            </Callout>
          )}
        </div>
        <div className="grid gap-2">
          <Field
            label="Webhook"
            optional
            hint="A public https address. Each message is signed; the secret is shown once, when the webhook is saved."
            error={wrong("webhook_url")}
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
