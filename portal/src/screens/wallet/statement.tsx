import type { ApiResponse, Args } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { useMe } from "../../api/me.ts";
import { csvText, downloadCsv } from "../../format/csv.ts";
import { amountOf, nanosOf } from "../../format/nanos.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Button } from "../../ui/button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Select } from "../../ui/field.tsx";
import { Callout, Card, PageHeader } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Money, Num, useNow } from "../../ui/values.tsx";
import { useSearchParam, useWorkspace } from "../../url-state.ts";
import { KINDS } from "./entry-kinds.ts";

type Statement = ApiResponse<"manageShowStatement">;

const MONTHS_BACK = 24;
const MONTH = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" });

/** UTC months, newest first. */
function monthsUntil(nowMs: number): string[] {
  const now = new Date(nowMs);
  return Array.from({ length: MONTHS_BACK }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)).toISOString().slice(0, 7),
  );
}

const monthText = (month: string) => MONTH.format(Date.parse(`${month}-01T00:00:00Z`));

export function Screen() {
  const { workspace, at } = useWorkspace();
  const nowMs = useNow(false);
  const months = monthsUntil(nowMs);
  const [monthParam, setMonth] = useSearchParam("month", months[0]);
  const month = /^\d{4}-(?:0[1-9]|1[0-2])$/.test(monthParam) ? monthParam : (months[0] ?? "");
  const args: Args<"manageShowStatement"> = { params: { workspace }, query: { month } };
  const statement = useManage("manageShowStatement", args, { keepPrevious: true });
  const data = statement.data;
  return (
    <>
      <PageHeader
        title={`Statement for ${monthText(month)}`}
        actions={
          <>
            <ApiButton calls={[{ id: "manageShowStatement", args, description: "Show a monthly statement" }]} />
            <LinkButton to={at("wallet")} icon="wallet">
              Wallet
            </LinkButton>
            <div className="w-44">
              <Select
                aria-label="Month"
                value={month}
                onChange={(event) => setMonth(event.target.value)}
                options={(months.includes(month) ? months : [month, ...months]).map((one) => ({
                  value: one,
                  label: monthText(one),
                }))}
              />
            </div>
            <Button
              icon="download"
              disabled={data === undefined}
              onClick={() => data !== undefined && exportStatement(data)}
            >
              Export CSV
            </Button>
            <Button variant="primary" icon="printer" disabled={data === undefined} onClick={() => window.print()}>
              Print
            </Button>
          </>
        }
      />
      {statement.error !== null && data === undefined ? (
        <Card>
          <ErrorState error={statement.error} onRetry={() => void statement.refetch()} />
        </Card>
      ) : data === undefined ? (
        <Card>
          <SkeletonLines count={8} />
        </Card>
      ) : (
        <PrintableStatement statement={data} isOpen={month === months[0]} />
      )}
    </>
  );
}

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeZone: "UTC" });

/** The printable statement. */
function PrintableStatement({ statement, isOpen }: { readonly statement: Statement; readonly isOpen: boolean }) {
  const { currency, opening_balance, closing_balance, kinds, models, from, to } = statement;
  const name = useMe().data?.workspaces.find(({ slug }) => slug === statement.workspace)?.name;
  return (
    <article
      aria-label={`Statement for ${monthText(statement.month)}`}
      className="mx-auto grid max-w-3xl gap-7 rounded-lg border bg-card px-4 py-7 sm:px-10 print:max-w-none print:border-0 print:p-0"
    >
      <div className="flex flex-wrap justify-between gap-4">
        <div>
          <p className="label-mark">Workspace</p>
          <p className="text-base font-semibold">{name ?? statement.workspace}</p>
          {name !== undefined && <p className="font-mono text-xs text-soft">{statement.workspace}</p>}
        </div>
        <div className="sm:text-right">
          <p className="label-mark">Period (UTC)</p>
          <p>
            {DAY.format(Date.parse(from))} – {DAY.format(Date.parse(to) - 1)}
          </p>
        </div>
      </div>
      {isOpen && (
        <div data-print="no">
          <Callout title="Month in progress">Amounts can still change.</Callout>
        </div>
      )}
      <Balances currency={currency} opening={opening_balance} closing={closing_balance} />
      <TransactionTypes kinds={kinds} currency={currency} />
      <Models models={models} currency={currency} />
      <p className="text-xs text-soft">Amounts are rounded. The CSV has the exact amounts.</p>
    </article>
  );
}

type BalancesProps = { readonly currency: string; readonly opening: string; readonly closing: string };

function Balances({ currency, opening, closing }: BalancesProps) {
  const rows = [
    { label: "Opening balance", amount: opening },
    { label: "Change", amount: amountOf(nanosOf(closing) - nanosOf(opening)), signed: true },
    { label: "Closing balance", amount: closing },
  ];
  return (
    <dl className="flex flex-wrap gap-x-8 gap-y-4 border-y py-4">
      {rows.map(({ label, amount, signed = false }) => (
        // Wraps instead of shrinking below the amount.
        <div key={label} className="flex-1 basis-40 max-sm:basis-full">
          <dt className="label-mark">{label}</dt>
          <dd className="text-lg font-semibold">
            <Money amount={amount} currency={currency} signed={signed} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

const CELL = "py-1.5 pr-2 last:pr-0 sm:pr-4";
const HEAD = "border-b text-left text-xs text-soft";

function TransactionTypes({ kinds, currency }: Pick<Statement, "kinds" | "currency">) {
  if (kinds.length === 0) return <p className="text-soft">No transactions in this month.</p>;
  return (
    <section className="grid min-w-0 gap-2">
      <h2>Transactions</h2>
      <table className="w-full max-sm:text-xs">
        <thead className={HEAD}>
          <tr>
            <th className={CELL}>Type</th>
            <th className={`${CELL} text-right max-sm:hidden print:table-cell`}>Entries</th>
            <th className={`${CELL} text-right`}>In</th>
            <th className={`${CELL} text-right`}>Out</th>
          </tr>
        </thead>
        <tbody>
          {kinds.map((row) => (
            <tr key={row.kind} className="border-b last:border-0">
              <td className={CELL}>{KINDS[row.kind].many}</td>
              <td className={`${CELL} text-right max-sm:hidden print:table-cell`}>
                <Num value={row.transactions} />
              </td>
              <td className={`${CELL} text-right`}>
                <Money amount={row.in} currency={currency} />
              </td>
              <td className={`${CELL} text-right`}>
                <Money amount={row.out} currency={currency} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Models({ models, currency }: Pick<Statement, "models" | "currency">) {
  if (models.length === 0) return null;
  return (
    <section className="grid min-w-0 gap-2">
      <h2>Requests by model</h2>
      <table className="w-full max-sm:text-xs">
        <thead className={HEAD}>
          <tr>
            <th className={CELL}>Model</th>
            <th className={`${CELL} text-right`}>Requests</th>
            <th className={`${CELL} text-right`}>Cost</th>
          </tr>
        </thead>
        <tbody>
          {models.map((row) => (
            <tr key={row.model ?? ""} className="border-b last:border-0">
              <td className={`${CELL} break-all`}>{row.model ?? "Unknown"}</td>
              <td className={`${CELL} text-right`}>
                <Num value={row.requests} />
              </td>
              <td className={`${CELL} text-right`}>
                <Money amount={row.cost} currency={currency} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** One CSV for all sections; the first column names the section. */
function exportStatement({
  workspace,
  month,
  currency,
  opening_balance,
  closing_balance,
  kinds,
  models,
}: Statement): void {
  const rows = [
    ["balance", "opening", null, opening_balance, null, currency],
    ...kinds.map((row) => ["kind", row.kind, row.transactions, row.in, row.out, currency]),
    ...models.map((row) => ["model", row.model, row.requests, null, row.cost, currency]),
    ["balance", "closing", null, closing_balance, null, currency],
  ];
  downloadCsv(`${workspace}-statement-${month}.csv`, csvText(["line", "name", "count", "in", "out", "currency"], rows));
}
