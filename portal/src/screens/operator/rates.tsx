import { useState } from "react";
import { useSearchParams } from "../../address.ts";
import type { ApiResponse, Row } from "../../api/client.ts";
import { useManage, useManageMutation, usePages } from "../../api/hooks.ts";
import { decimalOf } from "../../format/decimal.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { DecimalInput } from "../../ui/decimal-input.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Checkbox, Field, Input, Select } from "../../ui/field.tsx";
import { Callout, PageHeader, Stack, Toolbar } from "../../ui/layout.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Time } from "../../ui/values.tsx";

type Rate = Row<"manageListRates">;
type Kept = Row<"manageRateHistory">;
type Taken = ApiResponse<"managePostRates">;

const COLUMNS: readonly Column<Rate>[] = [
  {
    id: "currency",
    header: "Currency",
    phone: "title",
    cell: (row) => <span className="font-medium">{row.currency}</span>,
  },
  {
    id: "rate",
    header: "For one euro",
    align: "end",
    cell: (row) => <span className="figures">{row.per_eur}</span>,
  },
  {
    id: "date",
    header: "Of the day",
    cell: (row) => (
      <span className="inline-flex items-center gap-2">
        <Time at={row.date} as="day" />
        {row.stale && <Badge tone="warn">old</Badge>}
      </span>
    ),
  },
  {
    id: "source",
    header: "Source",
    className: "md:max-w-80",
    cell: (row) => <span className="break-words">{row.source}</span>,
  },
  { id: "recorded", header: "Learned", cell: (row) => <Time at={row.recorded_at} none="from the catalogue" /> },
];

const HISTORY: readonly Column<Kept>[] = [
  { id: "recorded", header: "Learned", cell: (row) => <Time at={row.recorded_at} as="short" /> },
  {
    id: "currency",
    header: "Currency",
    phone: "title",
    cell: (row) => <span className="font-medium">{row.currency}</span>,
  },
  { id: "rate", header: "For one euro", align: "end", cell: (row) => <span className="figures">{row.per_eur}</span> },
  { id: "date", header: "Of the day", cell: (row) => <Time at={row.date} as="day" /> },
  { id: "source", header: "Source", cell: (row) => row.source },
];

/** What came of rates that were given or fetched. */
function TakenNote({ taken }: { readonly taken: Taken }) {
  const said = [
    `${taken.taken.length} taken`,
    `${taken.known.length} known already`,
    ...(taken.refused.length === 0 ? [] : [`${taken.refused.length} refused`]),
  ];
  return (
    <Callout tone={taken.refused.length > 0 ? "warn" : "good"} title={`Rates of ${taken.date}: ${said.join(", ")}`}>
      {taken.refused.map(({ currency, why }) => (
        <p key={currency}>
          {currency}: {why}
        </p>
      ))}
    </Callout>
  );
}

/** Exchange rates: in force, fetched, given by hand, and all that ever were. */
export function Screen() {
  const search = useSearchParams();
  const [taken, setTaken] = useState<Taken | null>(null);
  const rates = useManage("manageListRates", {});
  const fetching = useManageMutation("manageFetchRates", { onDone: setTaken });
  return (
    <>
      <PageHeader
        title="Exchange rates"
        about="Providers' prices are turned into the money of each wallet by these. What was charged keeps the rate of its time."
        actions={
          <>
            <CallButton
              calls={[
                { id: "manageListRates", args: {}, says: "List the exchange rates in force" },
                { id: "manageFetchRates", args: {}, says: "Fetch them from GATEWAY_RATES_URL now" },
              ]}
            />
            <Button icon="download" busy={fetching.isPending} onClick={() => fetching.mutate({})}>
              Fetch now
            </Button>
            <Button look="primary" icon="edit" onClick={() => search.set({ new: "1" })}>
              Give a rate
            </Button>
          </>
        }
      />
      <Stack>
        {taken !== null && <TakenNote taken={taken} />}
        <ErrorNote error={fetching.error} />
        <Tabs
          label="Exchange rates"
          tabs={[
            {
              id: "now",
              label: "In force",
              content: () => (
                <Table
                  label="Exchange rates in force"
                  columns={COLUMNS}
                  rows={rates.data?.data ?? []}
                  keyOf={(row) => row.currency}
                  query={rates}
                  empty={
                    <EmptyState icon="chart" title="There is no rate" hint="Give one, or set GATEWAY_RATES_URL." />
                  }
                />
              ),
            },
            { id: "history", label: "History", content: () => <History currencies={rates.data?.data ?? []} /> },
          ]}
        />
      </Stack>
      <GiveRate open={search.get("new") === "1"} onClose={() => search.set({ new: null })} onDone={setTaken} />
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
              { value: "", label: "Every currency" },
              ...currencies.map((one) => ({ value: one.currency, label: one.currency })),
            ]}
          />
        </Field>
      </Toolbar>
      <Table
        label="Rates that were kept"
        columns={HISTORY}
        rows={list.rows}
        keyOf={(row) => row.id}
        query={list}
        empty={
          <EmptyState
            icon="clock"
            title="No rate was kept yet"
            hint="Those in force come from the catalogue's files. Fetch or give one, and it stands here."
          />
        }
      />
    </div>
  );
}

type GiveProps = { readonly open: boolean; readonly onClose: () => void; readonly onDone: (taken: Taken) => void };

function GiveRate({ open, onClose, onDone }: GiveProps) {
  const [currency, setCurrency] = useState("USD");
  const [rate, setRate] = useState("");
  const [date, setDate] = useState(() => new Date().toISOString().slice(0, 10));
  const [jumps, setJumps] = useState(false);
  const post = useManageMutation("managePostRates", {
    onDone: (answer) => {
      onDone(answer);
      close();
    },
  });
  const close = () => {
    setRate("");
    setJumps(false);
    post.reset();
    onClose();
  };
  const body = { rates: { [currency]: decimalOf(rate) ?? rate }, date, ...(jumps ? { accept_jumps: true } : {}) };
  return (
    <FormDialog
      open={open}
      onClose={close}
      title="Give a rate"
      onSubmit={() => post.mutate({ body })}
      action="Give the rate"
      busy={post.isPending}
    >
      <Field label="Currency">
        <Input
          required
          mono
          maxLength={3}
          pattern="[A-Z]{3}"
          title="Three capital letters, such as USD"
          value={currency}
          onChange={(event) => setCurrency(event.target.value.toUpperCase())}
        />
      </Field>
      <Field label="Units for one euro">
        <DecimalInput example="1.0812" value={rate} onChange={setRate} />
      </Field>
      <Field label="Of the day">
        <Input type="date" required value={date} onChange={(event) => setDate(event.target.value)} />
      </Field>
      <Checkbox
        label="Take it although it moved a lot"
        hint="A rate that moved by more than a factor of 1.25 is refused otherwise."
        checked={jumps}
        onChange={setJumps}
      />
      <ErrorNote error={post.error} />
    </FormDialog>
  );
}
