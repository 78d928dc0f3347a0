import { durationText } from "../../format/time.ts";
import { Badge, LevelBadge, type Tone } from "../../ui/badge.tsx";
import { cx } from "../../ui/class-names.ts";
import { Logged } from "../../ui/logged.tsx";
import type { Column } from "../../ui/table.tsx";
import { Country, Money, Num, Unknown } from "../../ui/values.tsx";
import type { RequestRow } from "./filters.ts";

const TODAY = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const EARLIER = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** A log is read by the clock: the day only stands where it is not today. */
function clockText(at: string): string {
  const time = new Date(at);
  return time.toDateString() === new Date().toDateString()
    ? TODAY.format(time)
    : `${EARLIER.format(time)}, ${CLOCK.format(time)}`;
}

/** The code of a call that was answered before under the same `Idempotency-Key`: nothing failed. */
export const REPEATED = "idempotent_replay";

export function statusTone(status: number, errorCode: string | null): Tone {
  if (status >= 500) return "bad";
  if (status >= 400) return "warn";
  if (errorCode === REPEATED) return "neutral";
  return errorCode === null ? "good" : "bad";
}

/** The model that was asked for, and the one that served where it is another one. */
function Models({ row }: { readonly row: Pick<RequestRow, "model" | "model_requested"> }) {
  const { model, model_requested: asked } = row;
  if (model === null || asked === null || asked === model) return <Logged text={model ?? asked} />;
  return (
    <span className="inline-flex max-w-full min-w-0 items-baseline gap-1">
      <Logged text={asked} className="shrink" />
      <span aria-hidden="true" className="text-faint">
        →
      </span>
      <span className="sr-only">served by</span>
      <Logged text={model} className="shrink-[2]" />
    </span>
  );
}

function RequestCell({ row, isNew }: { readonly row: RequestRow; readonly isNew: boolean }) {
  return (
    <span className="grid max-w-72 min-w-0 max-md:max-w-full md:min-w-56">
      <span className="flex min-w-0 items-center gap-1.5">
        {isNew && <span title="Came just now" className="size-1.5 shrink-0 rounded-full bg-accent" />}
        <Models row={row} />
      </span>
      <span className="flex min-w-0 gap-1.5 text-xs font-normal text-soft">
        <time dateTime={row.created_at} className="figures shrink-0">
          {clockText(row.created_at)}
        </time>
        <span aria-hidden="true">·</span>
        <span className="shrink-0">{row.surface}</span>
        <span aria-hidden="true">·</span>
        <Logged text={row.app ?? row.key_name ?? row.key_id} />
      </span>
    </span>
  );
}

function ServedBy({ row }: { readonly row: RequestRow }) {
  if (row.provider === null) return <Unknown />;
  return (
    <span className="grid min-w-0 justify-items-start gap-0.5 max-md:justify-items-end">
      <Logged text={row.provider} className="max-w-36" />
      <span className="inline-flex flex-wrap items-center gap-1.5">
        <LevelBadge level={row.level} />
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
    {
      id: "status",
      header: "Status",
      cell: (row) => (
        <span
          className={cx("grid justify-items-start gap-0.5 max-md:justify-items-end", row.error_code && "md:min-w-32")}
        >
          <Badge tone={statusTone(row.status, row.error_code)}>{row.status}</Badge>
          {row.error_code !== null && (
            <Logged text={row.error_code} className="max-w-32 text-xs text-soft max-md:max-w-56 xl:max-w-52" />
          )}
        </span>
      ),
    },
    // Before what may be of any width: the cost is in sight wherever the table has to scroll.
    {
      id: "cost",
      header: "Cost",
      align: "end",
      cell: (row) =>
        row.own_key ? (
          <span className="text-xs text-soft">own key</span>
        ) : (
          <Money amount={row.cost} currency={row.currency} />
        ),
    },
    { id: "served", header: "Served by", cell: (row) => <ServedBy row={row} /> },
    { id: "tokens", header: "Tokens in → out", align: "end", cell: (row) => <Tokens usage={row.usage} /> },
    { id: "ttfb", header: "First byte", align: "end", cell: (row) => <Milliseconds ms={row.ttfb_ms} /> },
    { id: "total", header: "Total", align: "end", cell: (row) => <Milliseconds ms={row.total_ms} /> },
  ];
}
