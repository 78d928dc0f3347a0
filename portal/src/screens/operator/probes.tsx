import { useState } from "react";
import { useSearchParams } from "../../address.ts";
import type { ApiResponse, Row } from "../../api/client.ts";
import { useManage, useManageMutation, usePages } from "../../api/hooks.ts";
import { counted } from "../../format/number.ts";
import { durationText } from "../../format/time.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { Callout, PageHeader, Progress, Stack, Toolbar } from "../../ui/layout.tsx";
import { type Column, type RowsQuery, Table } from "../../ui/table.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { toast } from "../../ui/toast.tsx";
import { Num, Time } from "../../ui/values.tsx";

type Standing = Row<"manageListProofs">;
type Proof = Row<"manageListProbes">;
type Made = ApiResponse<"manageRunProbes">;

/** While probes run their answers come in one after the other. */
const PROGRESS_MS = 1500;

function useRun() {
  const [made, setMade] = useState<Made | null>(null);
  const [asked, setAsked] = useState<{ readonly count: number; readonly sinceMs: number } | null>(null);
  const run = useManageMutation("manageRunProbes", {
    onDone: (answer) => {
      setMade(answer);
      toast(answer.ok ? "All of them answered." : "Some did not answer as they should.", answer.ok ? "good" : "bad");
    },
  });
  const begin = (count: number, body: { endpoint?: string; surface?: "decisions" | "speech" }) => {
    setMade(null);
    setAsked({ count, sinceMs: Date.now() });
    run.mutate({ body });
  };
  return { run, begin, made, asked };
}

type Runner = ReturnType<typeof useRun>;

/** Proofs: which endpoints were seen to answer on decisions and speech. */
export function Screen() {
  const runner = useRun();
  const [isAsking, setIsAsking] = useState(false);
  const { isPending: isRunning } = runner.run;
  const standing = useManage("manageListProofs", {}, isRunning ? { refetchMs: PROGRESS_MS } : {});
  const rows = standing.data?.data ?? [];
  return (
    <>
      <PageHeader
        title="Probes"
        about="Decisions and speech are only served by endpoints that were seen to answer there. The gateway asks them on a schedule, with your credential."
        actions={
          <>
            <CallButton
              calls={[
                { id: "manageListProofs", args: {}, says: "Show which endpoints are proven now" },
                { id: "manageRunProbes", args: { body: {} }, says: "Ask all of them now" },
              ]}
            />
            <Button
              look="primary"
              icon="pulse"
              busy={isRunning}
              disabled={rows.length === 0}
              onClick={() => setIsAsking(true)}
            >
              Run all now
            </Button>
          </>
        }
      />
      <Stack>
        <Run runner={runner} rows={rows} />
        <Tabs
          label="Proofs"
          tabs={[
            {
              id: "now",
              label: "Now",
              content: () => <Now rows={rows} query={standing} runner={runner} />,
            },
            { id: "history", label: "History", content: () => <History isRunning={isRunning} /> },
          ]}
        />
      </Stack>
      <Confirm
        open={isAsking}
        onClose={() => setIsAsking(false)}
        onConfirm={() => {
          setIsAsking(false);
          runner.begin(rows.length, {});
        }}
        title="Run all probes"
        action={`Ask ${counted(rows.length, "endpoint")}`}
      >
        <p>Each endpoint gets a few short questions with known answers, at your cost. It takes up to a minute.</p>
      </Confirm>
    </>
  );
}

/** How far a run is, by the proofs that came in since it began; then what came of it. */
function Run({ runner: { run, made, asked }, rows }: { readonly runner: Runner; readonly rows: readonly Standing[] }) {
  if (run.error !== null)
    return (
      <Callout tone="bad" title="The probes could not be run">
        {run.error.message}
      </Callout>
    );
  if (run.isPending && asked !== null) {
    const done = rows.filter(({ last }) => last !== null && Date.parse(last.at) >= asked.sinceMs).length;
    return (
      <div role="status" className="grid gap-2 rounded-lg border bg-card px-5 py-4">
        <p>
          Asking {asked.count} {asked.count === 1 ? "endpoint" : "endpoints"}: {Math.min(done, asked.count)} answered.
        </p>
        <Progress share={asked.count === 0 ? 0 : done / asked.count} label="Endpoints that answered" />
      </div>
    );
  }
  if (made === null) return null;
  const failed = made.data.filter(({ result }) => result === "failed");
  return (
    <Callout
      tone={made.ok ? "good" : "warn"}
      title={made.ok ? `${made.data.length} proven` : `${failed.length} of ${made.data.length} failed`}
    >
      {failed.slice(0, 5).map((one) => (
        <p key={one.id} className="break-words">
          {one.endpoint} on {one.surface}: {one.reason}
        </p>
      ))}
      {made.ok && "It holds from the next request on."}
    </Callout>
  );
}

type NowProps = {
  readonly rows: readonly Standing[];
  readonly query: RowsQuery;
  readonly runner: Runner;
};

function nowColumns({ run, begin }: Runner): readonly Column<Standing>[] {
  return [
    {
      id: "endpoint",
      header: "Endpoint",
      phone: "title",
      className: "md:max-w-72",
      cell: (row) => (
        <>
          <span className="block truncate font-medium">{row.model}</span>
          <span className="block truncate text-xs text-soft">{row.endpoint}</span>
        </>
      ),
    },
    { id: "surface", header: "Surface", cell: (row) => row.surface },
    {
      id: "proven",
      header: "State",
      cell: (row) => (
        <Badge tone={row.proven ? "good" : "bad"} dot>
          {!row.proven ? "not served" : row.images === false ? "proven, no pictures" : "proven"}
        </Badge>
      ),
    },
    { id: "at", header: "Proven", cell: (row) => <Time at={row.proven_at} /> },
    { id: "until", header: "Good until", phone: "hide", cell: (row) => <Time at={row.expires_at} none="–" /> },
    {
      id: "last",
      header: "Last answer",
      className: "md:max-w-80 md:min-w-48",
      cell: (row) => (
        <span className="min-w-0 text-xs break-words text-soft">
          {row.last === null ? "It was never asked." : row.last.reason}
          {row.failures > 0 && <span className="text-bad"> {row.failures} failures in a row.</span>}
        </span>
      ),
    },
    {
      id: "actions",
      header: <span className="sr-only">Actions</span>,
      align: "end",
      cell: (row) => (
        <Button
          size="small"
          disabled={run.isPending}
          onClick={() => begin(1, { endpoint: row.endpoint, surface: row.surface })}
          aria-label={`Ask now: ${row.endpoint} on ${row.surface}`}
        >
          Ask now
        </Button>
      ),
    },
  ];
}

function Now({ rows, query, runner }: NowProps) {
  return (
    <Table
      label="Endpoints that can be proven"
      columns={nowColumns(runner)}
      rows={rows}
      keyOf={(row) => `${row.endpoint} ${row.surface}`}
      query={query}
      empty={
        <EmptyState
          icon="pulse"
          title="There is nobody to ask"
          hint="No connected provider serves decisions or speech. Connect one under Credentials."
        />
      }
    />
  );
}

const HISTORY: readonly Column<Proof>[] = [
  { id: "at", header: "When", cell: (row) => <Time at={row.at} /> },
  {
    id: "endpoint",
    header: "Endpoint",
    phone: "title",
    className: "md:max-w-72",
    cell: (row) => <span className="block truncate">{row.endpoint}</span>,
  },
  { id: "surface", header: "Surface", cell: (row) => row.surface },
  {
    id: "result",
    header: "Result",
    cell: (row) => <Badge tone={row.result === "proven" ? "good" : "bad"}>{row.result}</Badge>,
  },
  {
    id: "reason",
    header: "What came of it",
    className: "md:max-w-96",
    cell: (row) => <span className="text-xs break-words text-soft">{row.reason}</span>,
  },
  {
    id: "took",
    header: "Took",
    align: "end",
    cell: (row) => <span className="figures">{durationText(row.duration_ms)}</span>,
  },
  {
    id: "tokens",
    header: "Tokens",
    align: "end",
    phone: "hide",
    cell: (row) => <Num value={row.input_tokens === null ? null : row.input_tokens + (row.output_tokens ?? 0)} />,
  },
  { id: "cause", header: "Asked by", phone: "hide", cell: (row) => row.cause },
];

function isSurface(text: string): text is Proof["surface"] {
  return text === "decisions" || text === "speech";
}

function isResult(text: string): text is Proof["result"] {
  return text === "proven" || text === "failed";
}

function History({ isRunning }: { readonly isRunning: boolean }) {
  const search = useSearchParams();
  const [surface, result] = [search.get("surface"), search.get("result")];
  const query = {
    limit: 50,
    ...(isSurface(surface) ? { surface } : {}),
    ...(isResult(result) ? { result } : {}),
  };
  const list = usePages(
    "manageListProbes",
    { query },
    { keepPrevious: true, ...(isRunning ? { refetchMs: PROGRESS_MS } : {}) },
  );
  return (
    <div>
      <Toolbar>
        <Field label="Surface" hideLabel className="w-44 max-sm:w-full">
          <Select
            value={surface}
            onChange={(event) => search.set({ surface: event.target.value })}
            options={[
              { value: "", label: "Every surface" },
              { value: "decisions", label: "Decisions" },
              { value: "speech", label: "Speech" },
            ]}
          />
        </Field>
        <Field label="Result" hideLabel className="w-40 max-sm:w-full">
          <Select
            value={result}
            onChange={(event) => search.set({ result: event.target.value })}
            options={[
              { value: "", label: "Every result" },
              { value: "proven", label: "Proven" },
              { value: "failed", label: "Failed" },
            ]}
          />
        </Field>
      </Toolbar>
      <Table
        label="Proofs that were made"
        columns={HISTORY}
        rows={list.rows}
        keyOf={(row) => row.id}
        query={list}
        empty={<EmptyState icon="pulse" title="No proof was made yet" hint="Run the probes to make the first ones." />}
      />
    </div>
  );
}
