import type { ReactNode } from "react";
import { numberText } from "../../format/number.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Drawer } from "../../ui/dialog.tsx";
import { Callout, KeyValue } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Money, Num, Time } from "../../ui/values.tsx";
import { Countdown } from "./countdown.tsx";
import { isInactive, type Key, SCOPES, type Limits as SpendLimits, STATES, spendTexts, unusedText } from "./key.ts";
import type { KeyAction } from "./key-actions.tsx";

type Props = {
  readonly subject: Key;
  readonly limits: SpendLimits | undefined;
  readonly at: (path?: string) => string;
  readonly isAdmin: boolean;
  readonly act: (action: KeyAction) => void;
  readonly onClose: () => void;
};

export function KeyDetail({ subject, limits, at, isAdmin, act, onClose }: Props) {
  const { label, tone, description } = STATES[subject.state];
  const footer = isInactive(subject) ? undefined : (
    <>
      <Button icon="edit" onClick={() => act({ kind: "change", subject })}>
        Edit
      </Button>
      {subject.state === "active" && (
        <Button icon="refresh" onClick={() => act({ kind: "rotate", subject })}>
          Rotate
        </Button>
      )}
      <Button variant="danger" icon="trash" onClick={() => act({ kind: "revoke", subject })}>
        Revoke
      </Button>
    </>
  );
  return (
    <Drawer open onClose={onClose} title={subject.name} footer={footer} size="normal">
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone={tone} dot>
          {label}
        </Badge>
        <span className="text-soft">{description}</span>
      </p>
      {subject.state === "deprecated" && subject.grace_until !== null && (
        <Callout tone="warn" title="Grace period">
          This key works for another <Countdown until={subject.grace_until} />.
        </Callout>
      )}
      <KeyValue
        rows={[
          ...identityRows(subject),
          ...usageRows(subject),
          { name: "Restrictions", value: <Limits subject={subject} spend={spendTexts(limits)} /> },
          ...policyRows(subject),
        ]}
      />
      <div className="flex flex-wrap gap-2">
        <LinkButton to={at(`requests?key=${subject.id}`)} icon="list" size="small">
          View requests
        </LinkButton>
        <LinkButton to={at(`usage?env=${subject.environment}&pick=${subject.id}`)} icon="chart" size="small">
          View usage
        </LinkButton>
        {isAdmin && (
          <LinkButton to={at("limits")} icon="gauge" size="small">
            Spend limits
          </LinkButton>
        )}
      </div>
    </Drawer>
  );
}

type Rows = { readonly name: string; readonly value: ReactNode }[];

function identityRows(subject: Key): Rows {
  const ownerText =
    subject.member === null
      ? "Workspace. Keeps working when members leave."
      : `${subject.member}. Revoked when they leave the workspace.`;
  return [
    {
      name: "ID",
      value: (
        <span className="inline-flex items-center gap-1 font-mono text-xs break-all">
          {subject.id} <CopyButton text={subject.id} label="Copy ID" />
        </span>
      ),
    },
    { name: "Prefix", value: <code className="font-mono text-xs">{subject.prefix}</code> },
    { name: "Owner", value: ownerText },
    { name: "Environment", value: subject.environment },
    { name: "Created", value: <Time at={subject.created_at} as="short" /> },
    ...(subject.rotated_from === null
      ? []
      : [{ name: "Rotated from", value: <code className="font-mono text-xs">{subject.rotated_from}</code> }]),
  ];
}

function usageRows(subject: Key): Rows {
  return [
    { name: "Last used", value: <Time at={subject.last_used_at} none={unusedText(subject, Date.now())} /> },
    { name: "Expires", value: <Time at={subject.expires_at} as="short" /> },
    {
      name: "This month",
      value: (
        <>
          <Money amount={subject.spent_month} currency={subject.currency} /> in{" "}
          <Num value={subject.requests_month} unit={subject.requests_month === 1 ? "request" : "requests"} />
        </>
      ),
    },
  ];
}

type LimitsProps = { readonly subject: Key; readonly spend: readonly string[] };

function Limits({ subject: { rpm, scopes, ip_allowlist }, spend }: LimitsProps) {
  const permitted = scopes === null ? "all" : SCOPES.filter(({ value }) => scopes.includes(value));
  return (
    <ul className="grid gap-0.5">
      {spend.length > 0 && <li>Spend limit: {spend.join(", ")}</li>}
      <li>Rate limit: {rpm === null ? "default" : `${numberText(rpm)} RPM`}</li>
      <li>
        Permissions: {permitted === "all" ? permitted : permitted.map(({ label }) => label.toLowerCase()).join(", ")}
      </li>
      <li>
        IP allowlist:{" "}
        {ip_allowlist === null ? (
          "any address"
        ) : (
          <code className="font-mono text-xs break-all">{ip_allowlist.join(", ")}</code>
        )}
      </li>
    </ul>
  );
}

function policyRows({ policy }: Key): Rows {
  if (policy === null) return [{ name: "Key policy", value: "None (workspace policy applies)" }];
  const { floor, countries, zero_data_retention, no_training, allowed_models, blocked_providers, parameters } = policy;
  const requirements = [
    ...(floor === null ? [] : [`Minimum level ${floor}`]),
    ...(countries === null ? [] : [`Countries: ${countries.join(", ")}`]),
    ...(zero_data_retention ? ["Zero data retention"] : []),
    ...(no_training ? ["No training"] : []),
    ...(allowed_models === null ? [] : [`Models: ${allowed_models.join(", ")}`]),
    ...(blocked_providers.length === 0 ? [] : [`Blocked providers: ${blocked_providers.join(", ")}`]),
    ...(parameters === null ? [] : [parameters === "lenient" ? "Lenient parameters" : "Strict parameters"]),
  ];
  return [
    {
      name: "Key policy",
      value: (
        <ul className="grid gap-0.5">
          {requirements.map((requirement) => (
            <li key={requirement}>{requirement}</li>
          ))}
        </ul>
      ),
    },
  ];
}
