import { Badge } from "../../ui/badge.tsx";
import type { Column } from "../../ui/table.tsx";
import { Money, Num, Time, useNow } from "../../ui/values.tsx";
import { Countdown } from "./countdown.tsx";
import {
  expiresSoon,
  expiryOf,
  type Key,
  type Limits,
  restrictionsOf,
  STATES,
  sortValueOf,
  unusedText,
} from "./key.ts";
import { type KeyAction, KeyMenu } from "./key-actions.tsx";

export function keyColumns({
  limits,
  act,
}: {
  readonly limits: ReadonlyMap<string, Limits>;
  readonly act: (action: KeyAction) => void;
}): Column<Key>[] {
  const by = (column: string) => (key: Key) => sortValueOf(key, column, limits);
  return [
    { id: "name", header: "Name", sortValue: by("name"), phone: "title", cell: (key) => <Name subject={key} /> },
    {
      id: "owner",
      header: "Owner",
      sortValue: by("owner"),
      className: "md:max-w-44",
      cell: ({ member }) =>
        member === null ? (
          <span className="text-soft">Workspace</span>
        ) : (
          <span className="block truncate" title={member}>
            {member}
          </span>
        ),
    },
    {
      id: "models",
      header: "Models",
      sortValue: by("models"),
      className: "md:max-w-52",
      cell: (key) => <AllowedModels models={key.policy?.allowed_models ?? null} />,
    },
    {
      id: "used",
      header: "Last used",
      sortValue: by("used"),
      cell: (key) => <Time at={key.last_used_at} none={unusedText(key, Date.now())} />,
    },
    { id: "stops", header: "Expires", sortValue: by("stops"), cell: (key) => <Expiry subject={key} /> },
    {
      id: "limits",
      header: "Restrictions",
      sortValue: by("limits"),
      cell: (key) => <Restrictions all={restrictionsOf(key, limits.get(key.id))} />,
    },
    {
      id: "spend",
      header: "This month",
      sortValue: by("spend"),
      align: "end",
      cell: (key) => (
        <span className="grid justify-items-end">
          <Money amount={key.spent_month} currency={key.currency} />
          <span className="text-xs text-soft">
            <Num value={key.requests_month} compact unit={key.requests_month === 1 ? "request" : "requests"} />
          </span>
        </span>
      ),
    },
    {
      id: "created",
      header: "Created",
      sortValue: by("created"),
      phone: "hide",
      cell: (key) => <Time at={key.created_at} as="day" />,
    },
    {
      id: "actions",
      header: <span className="sr-only">Actions</span>,
      align: "end",
      cell: (key) => <KeyMenu subject={key} act={act} />,
    },
  ];
}

function Name({ subject }: { readonly subject: Key }) {
  const { label, tone, description } = STATES[subject.state];
  return (
    <span className="grid min-w-0">
      <span className="inline-flex max-w-full flex-wrap items-center gap-x-2 gap-y-1">
        <span className="max-w-44 truncate max-md:max-w-full" title={subject.name}>
          {subject.name}
        </span>
        {subject.environment === "test" && <Badge>Test</Badge>}
        {subject.state !== "active" && (
          <Badge tone={tone} title={description}>
            {label}
          </Badge>
        )}
      </span>
      <span className="font-mono text-xs font-normal text-soft">{subject.prefix}…</span>
    </span>
  );
}

/** The models that the key's own policy allows. */
function AllowedModels({ models }: { readonly models: readonly string[] | null }) {
  const [first, ...rest] = models ?? [];
  if (first === undefined) return <span className="text-soft">All</span>;
  return (
    <span className="flex min-w-0 items-baseline gap-1.5 max-md:justify-end" title={models?.join(", ")}>
      <span className="min-w-0 truncate">{first}</span>
      {rest.length > 0 && <span className="shrink-0 text-xs text-soft">+{rest.length}</span>}
    </span>
  );
}

function Expiry({ subject }: { readonly subject: Key }) {
  const nowMs = useNow();
  const at = expiryOf(subject);
  if (subject.state === "deprecated" && at !== null)
    return (
      <span className="text-warn">
        <Countdown until={at} />
      </span>
    );
  return (
    <span className={expiresSoon(subject, nowMs) ? "text-warn" : undefined}>
      <Time at={at} as={expiresSoon(subject, nowMs) ? "relative" : "day"} />
    </span>
  );
}

const RESTRICTIONS_SHOWN = 2;

function Restrictions({ all }: { readonly all: readonly string[] }) {
  if (all.length === 0) return <span className="text-faint">None</span>;
  const rest = all.length - RESTRICTIONS_SHOWN;
  return (
    <span className="text-xs text-soft" title={all.join(", ")}>
      {all.slice(0, RESTRICTIONS_SHOWN).join(", ")}
      {rest > 0 && ` +${rest}`}
    </span>
  );
}
