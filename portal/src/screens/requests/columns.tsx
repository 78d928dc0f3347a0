import { durationText } from "../../format/time.ts";
import { Badge, LevelBadge, type Tone } from "../../ui/badge.tsx";
import { cx } from "../../ui/class-names.ts";
import type { Column } from "../../ui/table.tsx";
import { UntrustedText } from "../../ui/untrusted-text.tsx";
import { Country, Money, Num, Unknown } from "../../ui/values.tsx";
import type { RequestRow } from "./request-filters.ts";

const TODAY = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const EARLIER = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** The date is only shown for earlier days. */
function clockText(at: string): string {
  const time = new Date(at);
  return time.toDateString() === new Date().toDateString()
    ? TODAY.format(time)
    : `${EARLIER.format(time)}, ${CLOCK.format(time)}`;
}

/** The code of an idempotent replay, which is not a failure. */
export const IDEMPOTENT_REPLAY = "idempotent_replay";

export function statusTone(status: number, errorCode: string | null): Tone {
  if (status >= 500) return "bad";
  if (status >= 400) return "warn";
  if (errorCode === IDEMPOTENT_REPLAY) return "neutral";
  return errorCode === null ? "good" : "bad";
}

/** The requested model, and the serving model if it differs. */
function Models({ row }: { readonly row: Pick<RequestRow, "model" | "model_requested"> }) {
  const { model, model_requested: requested } = row;
  if (model === null || requested === null || requested === model) return <UntrustedText text={model ?? requested} />;
  return (
    <span className="inline-flex max-w-full min-w-0 items-baseline gap-1">
      <UntrustedText text={requested} className="shrink" />
      <span aria-hidden="true" className="text-faint">
        →
      </span>
      <span className="sr-only">served by</span>
      <UntrustedText text={model} className="shrink-[2]" />
    </span>
  );
}

function RequestCell({ row, isNew }: { readonly row: RequestRow; readonly isNew: boolean }) {
  return (
    <span className="grid max-w-72 min-w-0 max-md:max-w-full md:min-w-56">
      <span className="flex min-w-0 items-center gap-1.5">
        {isNew && <span title="New" className="size-1.5 shrink-0 rounded-full bg-accent" />}
        <Models row={row} />
      </span>
      <span className="flex min-w-0 gap-1.5 text-xs font-normal text-soft">
        <time dateTime={row.created_at} className="figures shrink-0">
          {clockText(row.created_at)}
        </time>
        <span aria-hidden="true">·</span>
        <span className="shrink-0">{row.surface}</span>
        {row.app !== null && (
          <>
            <span aria-hidden="true">·</span>
            <UntrustedText text={row.app} />
          </>
        )}
      </span>
    </span>
  );
}

function ServedBy({ row }: { readonly row: RequestRow }) {
  if (row.provider === null) return <Unknown />;
  return (
    <span className="grid min-w-0 justify-items-start gap-0.5 max-md:flex max-md:items-center max-md:gap-1.5">
      <UntrustedText text={row.provider} className="max-w-36" />
      <span className="inline-flex flex-wrap items-center gap-1.5">
        <LevelBadge level={row.level} isAttested={row.level_attested} />
        {row.countries?.slice(0, 3).map((code) => (
          <Country key={code} code={code} short />
        ))}
        {row.countries !== null && row.countries.length > 3 && (
          <span className="text-xs text-soft">+{row.countries.length - 3}</span>
        )}
      </span>
    </span>
  );
}

function Tokens({ usage }: { readonly usage: RequestRow["usage"] }) {
  const { input_tokens, output_tokens, cached_tokens, reasoning_tokens, characters, seconds } = usage;
  const extra = [
    cached_tokens ? `${cached_tokens.toLocaleString()} cached` : "",
    reasoning_tokens ? `${reasoning_tokens.toLocaleString()} reasoning` : "",
    characters ? `${characters.toLocaleString()} characters` : "",
    seconds ? `${seconds.toLocaleString()} s audio` : "",
  ].filter((part) => part !== "");
  if (input_tokens === null && output_tokens === null && extra.length === 0) return <Unknown />;
  return (
    <span className="grid justify-items-end">
      <span className="inline-flex items-baseline gap-1">
        <Num value={input_tokens} />
        <span aria-hidden="true" className="text-faint">
          →
        </span>
        <span className="sr-only">in,</span>
        <Num value={output_tokens} />
        <span className="sr-only">out</span>
      </span>
      {extra.length > 0 && <span className="text-xs whitespace-nowrap text-soft">{extra.join(" · ")}</span>}
    </span>
  );
}

export function Milliseconds({ ms }: { readonly ms: number | null }) {
  return ms === null ? <Unknown /> : <span className="figures whitespace-nowrap">{durationText(ms)}</span>;
}

export function requestColumns(isNew: (row: RequestRow) => boolean): readonly Column<RequestRow>[] {
  return [
    { id: "request", header: "Request", cell: (row) => <RequestCell row={row} isNew={isNew(row)} /> },
    { id: "status", header: "Status", phone: "line", cell: (row) => <Status row={row} /> },
    // Before the variable-width columns, so that the cost is visible without scrolling.
    { id: "cost", header: "Cost", align: "end", phone: "line", cell: (row) => <RequestCost row={row} /> },
    {
      id: "key",
      header: "Key",
      phone: "hide",
      cell: (row) => <UntrustedText text={row.key_name ?? row.key_id} className="max-w-36" />,
    },
    {
      id: "served",
      header: "Served by",
      phone: "line",
      className: "md:min-w-32",
      cell: (row) => <ServedBy row={row} />,
    },
    {
      id: "tokens",
      header: "Tokens (in → out)",
      align: "end",
      phone: "hide",
      cell: (row) => <Tokens usage={row.usage} />,
    },
    { id: "ttfb", header: "TTFB", align: "end", phone: "hide", cell: (row) => <Milliseconds ms={row.ttfb_ms} /> },
    { id: "total", header: "Total", align: "end", phone: "hide", cell: (row) => <Milliseconds ms={row.total_ms} /> },
    ...EXTRA_COLUMNS.map((column) => ({ ...column, optional: true, phone: "hide" as const })),
  ];
}

const EXTRA_COLUMNS: readonly Column<RequestRow>[] = [
  { id: "member", header: "Member", cell: (row) => <UntrustedText text={row.member} className="max-w-44" /> },
  { id: "environment", header: "Environment", cell: (row) => row.environment },
  {
    id: "endpoint",
    header: "Endpoint",
    cell: (row) => <UntrustedText text={row.endpoint} mono className="max-w-72 text-xs" />,
  },
  { id: "attempts", header: "Attempts", align: "end", cell: (row) => <Num value={row.attempts.length} /> },
  { id: "id", header: "Request ID", cell: (row) => <UntrustedText text={row.id} mono className="max-w-52 text-xs" /> },
];

function Status({ row }: { readonly row: RequestRow }) {
  return (
    <span
      className={cx(
        "grid justify-items-start gap-0.5 max-md:flex max-md:items-center max-md:gap-1.5",
        row.error_code && "md:min-w-32",
      )}
    >
      <Badge tone={statusTone(row.status, row.error_code)}>{row.status}</Badge>
      {row.error_code !== null && (
        <UntrustedText text={row.error_code} className="max-w-32 text-xs text-soft max-md:max-w-56 xl:max-w-52" />
      )}
    </span>
  );
}

function RequestCost({ row }: { readonly row: RequestRow }) {
  if (row.own_key) return <span className="text-xs text-soft">Your key</span>;
  return <Money amount={row.cost} currency={row.currency} as="price" />;
}
