import type { ReactNode } from "react";
import { counted } from "../../format/number.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Drawer } from "../../ui/dialog.tsx";
import { Callout, KeyValue } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Money, Num, Time } from "../../ui/values.tsx";
import { Countdown } from "./countdown.tsx";
import { isEnded, type Key, SCOPES, type Limits as SpendLimits, STATES, spendTexts, unusedText } from "./key.ts";
import type { Doing } from "./key-actions.tsx";

type Props = {
  readonly subject: Key;
  readonly limits: SpendLimits | undefined;
  readonly at: (path?: string) => string;
  readonly isAdmin: boolean;
  readonly act: (doing: Doing) => void;
  readonly onClose: () => void;
};

/** Everything that is known of one key, and what can be done with it. */
export function KeyDetail({ subject, limits, at, isAdmin, act, onClose }: Props) {
  const { word, tone, says } = STATES[subject.state];
  const footer = isEnded(subject) ? undefined : (
    <>
      <Button icon="edit" onClick={() => act({ is: "change", subject })}>
        Settings
      </Button>
      {subject.state === "active" && (
        <Button icon="refresh" onClick={() => act({ is: "rotate", subject })}>
          Rotate
        </Button>
      )}
      <Button look="danger" icon="trash" onClick={() => act({ is: "revoke", subject })}>
        Revoke
      </Button>
    </>
  );
  return (
    <Drawer open onClose={onClose} title={subject.name} footer={footer} size="normal">
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone={tone} dot>
          {word}
        </Badge>
        <span className="text-soft">{says}</span>
      </p>
      {subject.state === "deprecated" && subject.grace_until !== null && (
        <Callout tone="warn" title="Its grace runs out">
          It works for another <Countdown until={subject.grace_until} />.
        </Callout>
      )}
      <KeyValue
        rows={[
          ...whoseRows(subject),
          ...usedRows(subject),
          { name: "Limits", value: <Limits subject={subject} spend={spendTexts(limits)} /> },
          ...policyRows(subject),
        ]}
      />
      <div className="flex flex-wrap gap-2">
        <LinkButton to={at(`requests?key=${subject.id}`)} icon="list" size="small">
          Its requests
        </LinkButton>
        <LinkButton to={at(`usage?env=${subject.environment}&pick=${subject.id}`)} icon="chart" size="small">
          Its usage
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

function whoseRows(subject: Key): Rows {
  const leaving =
    subject.member === null
      ? "The workspace's: it goes on when people leave."
      : `${subject.member}: it ends when they leave the workspace.`;
  return [
    {
      name: "Id",
      value: (
        <span className="inline-flex items-center gap-1 font-mono text-xs break-all">
          {subject.id} <CopyButton text={subject.id} label="Copy the id" />
        </span>
      ),
    },
    { name: "Begins with", value: <code className="font-mono text-xs">{subject.prefix}</code> },
    { name: "Owner", value: leaving },
    { name: "Environment", value: subject.environment },
    { name: "Created", value: <Time at={subject.created_at} as="short" /> },
    ...(subject.rotated_from === null
      ? []
      : [{ name: "Took the place of", value: <code className="font-mono text-xs">{subject.rotated_from}</code> }]),
  ];
}

function usedRows(subject: Key): Rows {
  return [
    { name: "Last used", value: <Time at={subject.last_used_at} none={unusedText(subject, Date.now())} /> },
    { name: "Ends", value: <Time at={subject.expires_at} as="short" /> },
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
  const may = scopes === null ? "everything" : SCOPES.filter(({ value }) => scopes.includes(value));
  return (
    <ul className="grid gap-0.5">
      {spend.length > 0 && <li>May spend {spend.join(", ")}</li>}
      <li>{rpm === null ? "The usual requests a minute" : `${counted(rpm, "request")} a minute`}</li>
      <li>May call {may === "everything" ? may : may.map(({ label }) => label.toLowerCase()).join(", ")}</li>
      <li>
        From{" "}
        {ip_allowlist === null ? (
          "every address"
        ) : (
          <code className="font-mono text-xs break-all">{ip_allowlist.join(", ")}</code>
        )}
      </li>
    </ul>
  );
}

function policyRows({ policy }: Key): Rows {
  if (policy === null) return [{ name: "Own policy", value: "none: the workspace's holds" }];
  const { floor, countries, zero_data_retention, no_training, allowed_models, blocked_providers } = policy;
  const demands = [
    ...(floor === null ? [] : [`at least ${floor}`]),
    ...(countries === null ? [] : [`only in ${countries.join(", ")}`]),
    ...(zero_data_retention ? ["zero data retention"] : []),
    ...(no_training ? ["no training"] : []),
    ...(allowed_models === null ? [] : [`only ${allowed_models.join(", ")}`]),
    ...(blocked_providers.length === 0 ? [] : [`never ${blocked_providers.join(", ")}`]),
  ];
  return [
    {
      name: "Own policy",
      value: (
        <ul className="grid gap-0.5">
          {demands.map((demand) => (
            <li key={demand}>{demand}</li>
          ))}
        </ul>
      ),
    },
  ];
}
