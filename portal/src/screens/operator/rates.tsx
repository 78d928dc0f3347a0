import { useState } from "react";
import type { ApiResponse, Row } from "../../api/client.ts";
import { useManage, useManageMutation, usePages } from "../../api/hooks.ts";
import { decimalOf } from "../../format/decimal.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { DecimalInput } from "../../ui/decimal-input.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Checkbox, Field, Input, Select } from "../../ui/field.tsx";
import { Callout, PageHeader, Stack, Toolbar } from "../../ui/layout.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Time } from "../../ui/values.tsx";
import { useSearchParams } from "../../url-state.ts";

type Rate = Row<"manageListRates">;
type RecordedRate = Row<"manageRateHistory">;
type RateUpdateResult = ApiResponse<"managePostRates">;

/** All rates are per unit of it. */
const BASE = "EUR";

const COLUMNS: readonly Column<Rate>[] = [
  {
    id: "currency",
    header: "Currency",
    sortValue: (row) => row.currency,
    phone: "title",
    cell: (row) => <span className="font-medium">{row.currency}</span>,
  },
  {
    id: "rate",
    header: "Per EUR",
    sortValue: (row) => Number(row.per_eur),
    align: "end",
    cell: (row) => <span className="figures">{row.per_eur}</span>,
  },
  {
    id: "date",
    header: "Rate date",
    sortValue: (row) => row.date,
    cell: (row) => (
      <span className="inline-flex items-center gap-2">
        <Time at={row.date} as="day" />
        {row.stale && <Badge tone="warn">Stale</Badge>}
      </span>
    ),
  },
  {
    id: "source",
    header: "Source",
    sortValue: (row) => row.source,
    className: "md:max-w-80",
    cell: (row) => <span className="break-words">{row.source}</span>,
  },
  {
    id: "recorded",
    header: "Fetched",
    sortValue: (row) => row.recorded_at,
    cell: (row) => <Time at={row.recorded_at} none="From the catalogue" />,
  },
];

const HISTORY: readonly Column<RecordedRate>[] = [
  {
    id: "recorded",
    header: "Fetched",
    sortValue: (row) => row.recorded_at,
    cell: (row) => <Time at={row.recorded_at} as="short" />,
  },
  {
    id: "currency",
    header: "Currency",
    sortValue: (row) => row.currency,
    phone: "title",
    cell: (row) => <span className="font-medium">{row.currency}</span>,
  },
  {
    id: "rate",
    header: "Per EUR",
    sortValue: (row) => Number(row.per_eur),
    align: "end",
    cell: (row) => <span className="figures">{row.per_eur}</span>,
  },
  { id: "date", header: "Rate date", sortValue: (row) => row.date, cell: (row) => <Time at={row.date} as="day" /> },
  { id: "source", header: "Source", sortValue: (row) => row.source, cell: (row) => row.source },
];

/** The result of adding or fetching rates. */
function RateUpdateNote({ update }: { readonly update: RateUpdateResult }) {
  const summary = [
    `${update.taken.length} added`,
    `${update.known.length} unchanged`,
    ...(update.refused.length === 0 ? [] : [`${update.refused.length} rejected`]),
  ];
  return (
    <Callout
      tone={update.refused.length > 0 ? "warn" : "good"}
      title={`Rates for ${update.date}: ${summary.join(", ")}`}
    >
      {update.refused.map(({ currency, why }) => (
        <p key={currency}>
          {currency}: {why}
        </p>
      ))}
    </Callout>
  );
}

export function Screen() {
  const search = useSearchParams();
  const [update, setUpdate] = useState<RateUpdateResult | null>(null);
  const rates = useManage("manageListRates", {});
  const fetching = useManageMutation("manageFetchRates", { onDone: setUpdate });
  return (
    <>
      <PageHeader
        title="Exchange rates"
        about="Rates for converting provider prices to wallet currencies. Each charge keeps the rate that was used."
        actions={
          <>
            <ApiButton
              calls={[
                { id: "manageListRates", args: {}, description: "List current rates" },
                { id: "manageFetchRates", args: {}, description: "Fetch rates from GATEWAY_RATES_URL" },
              ]}
            />
            <Button icon="download" busy={fetching.isPending} onClick={() => fetching.mutate({})}>
              Fetch rates
            </Button>
            <Button variant="primary" icon="edit" onClick={() => search.set({ new: "1" })}>
              Add rate
            </Button>
          </>
        }
      />
      <Stack>
        {update !== null && <RateUpdateNote update={update} />}
        <ErrorNote error={fetching.error} />
        <Tabs
          label="Exchange rates"
          tabs={[
            {
              id: "now",
              label: "Current",
              content: () => (
                <Table
                  label="Current exchange rates"
                  columns={COLUMNS}
                  rows={(rates.data?.data ?? []).filter(({ currency }) => currency !== BASE)}
                  keyOf={(row) => row.currency}
                  query={rates}
                  empty={<EmptyState icon="chart" title="No rates" hint="Add a rate or set GATEWAY_RATES_URL." />}
                />
              ),
            },
            { id: "history", label: "History", content: () => <History currencies={rates.data?.data ?? []} /> },
          ]}
        />
      </Stack>
      <AddRate open={search.get("new") === "1"} onClose={() => search.set({ new: null })} onDone={setUpdate} />
    </>
  );
}

function History({ currencies }: { readonly currencies: readonly Rate[] }) {
  const search = useSearchParams();
  const currency = search.get("currency");
  const query = { limit: 50, ...(currency === "" ? {} : { currency }) };
  const list = usePages("manageRateHistory", { query }, { keepPrevious: true });
  return (
    <div>
      <Toolbar>
        <Field label="Currency" hideLabel className="w-44 max-sm:w-full">
          <Select
            value={currency}
            onChange={(event) => search.set({ currency: event.target.value })}
            options={[
              { value: "", label: "All currencies" },
              ...currencies.map((one) => ({ value: one.currency, label: one.currency })),
            ]}
          />
        </Field>
      </Toolbar>
      <Table
        label="Rate history"
        columns={HISTORY}
        rows={list.rows}
        keyOf={(row) => row.id}
        query={list}
        empty={
          <EmptyState
            icon="clock"
            title="No rate history"
            hint="Current rates come from the catalogue. Fetched and added rates are listed here."
          />
        }
      />
    </div>
  );
}

type AddRateProps = {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onDone: (update: RateUpdateResult) => void;
};

function AddRate({ open, onClose, onDone }: AddRateProps) {
  const [currency, setCurrency] = useState("USD");
  const [rate, setRate] = useState("");
  const [date, setDate] = useState(() => new Date().toISOString().slice(0, 10));
  const [acceptJumps, setAcceptJumps] = useState(false);
  const post = useManageMutation("managePostRates", {
    onDone: (answer) => {
      onDone(answer);
      close();
    },
  });
  const close = () => {
    setRate("");
    setAcceptJumps(false);
    post.reset();
    onClose();
  };
  const body = { rates: { [currency]: decimalOf(rate) ?? rate }, date, ...(acceptJumps ? { accept_jumps: true } : {}) };
  return (
    <FormDialog
      open={open}
      onClose={close}
      title="Add rate"
      onSubmit={() => post.mutate({ body })}
      action="Add rate"
      busy={post.isPending}
    >
      <Field label="Currency">
        <Input
          required
          mono
          maxLength={3}
          pattern="[A-Z]{3}"
          title="Three uppercase letters, for example USD"
          value={currency}
          onChange={(event) => setCurrency(event.target.value.toUpperCase())}
        />
      </Field>
      <Field label="Units per EUR">
        <DecimalInput example="1.0812" value={rate} onChange={setRate} />
      </Field>
      <Field label="Rate date">
        <Input type="date" required value={date} onChange={(event) => setDate(event.target.value)} />
      </Field>
      <Checkbox
        label="Accept large change"
        hint="Otherwise, a rate that changed by more than a factor of 1.25 is rejected."
        checked={acceptJumps}
        onChange={setAcceptJumps}
      />
      <ErrorNote error={post.error} />
    </FormDialog>
  );
}
