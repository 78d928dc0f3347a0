import { useState } from "react";
import type { ApiResponse, Row } from "../../api/client.ts";
import { useManage, useManageMutation, usePages } from "../../api/hooks.ts";
import { counted } from "../../format/number.ts";
import { durationText } from "../../format/time.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { Callout, PageHeader, Progress, Stack, Toolbar } from "../../ui/layout.tsx";
import { type Column, type RowsQuery, Table } from "../../ui/table.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { toast } from "../../ui/toast.tsx";
import { Num, Time } from "../../ui/values.tsx";
import { useSearchParams } from "../../url-state.ts";

type ProofStatus = Row<"manageListProofs">;
type Proof = Row<"manageListProbes">;
type ProbeRunResult = ApiResponse<"manageRunProbes">;

/** Results arrive one by one while probes run. */
const PROGRESS_MS = 1500;

function useProbeRun() {
  const [result, setResult] = useState<ProbeRunResult | null>(null);
  const [probing, setProbing] = useState<{ readonly count: number; readonly sinceMs: number } | null>(null);
  const run = useManageMutation("manageRunProbes", {
    onDone: (answer) => {
      setResult(answer);
      toast(answer.ok ? "All probes passed" : "Some probes failed", answer.ok ? "good" : "bad");
    },
  });
  const begin = (count: number, body: { endpoint?: string; surface?: "decisions" | "speech" }) => {
    setResult(null);
    setProbing({ count, sinceMs: Date.now() });
    run.mutate({ body });
  };
  return { run, begin, result, probing };
}

type ProbeRunner = ReturnType<typeof useProbeRun>;

/** Proofs: recorded probes of endpoints on decisions and speech. */
export function Screen() {
  const runner = useProbeRun();
  const [isConfirming, setIsConfirming] = useState(false);
  const { isPending: isRunning } = runner.run;
  const proofs = useManage("manageListProofs", {}, isRunning ? { refetchMs: PROGRESS_MS } : {});
  const rows = proofs.data?.data ?? [];
  return (
    <>
      <PageHeader
        title="Probes"
        about="Decisions and speech are only served by endpoints that passed a probe. The gateway probes them on a schedule with your credential."
        actions={
          <>
            <ApiButton
              calls={[
                { id: "manageListProofs", args: {}, description: "List proven endpoints" },
                { id: "manageRunProbes", args: { body: {} }, description: "Run all probes" },
              ]}
            />
            <Button
              variant="primary"
              icon="activity"
              busy={isRunning}
              disabled={rows.length === 0}
              onClick={() => setIsConfirming(true)}
            >
              Run all probes
            </Button>
          </>
        }
      />
      <Stack>
        <ProbeRun runner={runner} rows={rows} />
        <Tabs
          label="Proofs"
          tabs={[
            {
              id: "now",
              label: "Current",
              content: () => <CurrentProofs rows={rows} query={proofs} runner={runner} />,
            },
            { id: "history", label: "History", content: () => <History isRunning={isRunning} /> },
          ]}
        />
      </Stack>
      <Confirm
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        onConfirm={() => {
          setIsConfirming(false);
          runner.begin(rows.length, {});
        }}
        title="Run all probes?"
        action={`Probe ${counted(rows.length, "endpoint")}`}
      >
        <p>Each endpoint gets a few short requests with known answers, at your cost. This takes up to a minute.</p>
      </Confirm>
    </>
  );
}

/** Progress of a probe run by the results received so far, then its outcome. */
function ProbeRun({
  runner: { run, result, probing },
  rows,
}: {
  readonly runner: ProbeRunner;
  readonly rows: readonly ProofStatus[];
}) {
  if (run.error !== null)
    return (
      <Callout tone="bad" title="Probes could not be run">
        {run.error.message}
      </Callout>
    );
  if (run.isPending && probing !== null) {
    const completed = rows.filter(({ last }) => last !== null && Date.parse(last.at) >= probing.sinceMs).length;
    return (
      <div role="status" className="grid gap-2 rounded-lg border bg-card px-5 py-4">
        <p>
          Probing {probing.count} {probing.count === 1 ? "endpoint" : "endpoints"}: {Math.min(completed, probing.count)}{" "}
          done
        </p>
        <Progress share={probing.count === 0 ? 0 : completed / probing.count} label="Completed probes" />
      </div>
    );
  }
  if (result === null) return null;
  const failed = result.data.filter(({ result }) => result === "failed");
  return (
    <Callout
      tone={result.ok ? "good" : "warn"}
      title={result.ok ? `${result.data.length} proven` : `${failed.length} of ${result.data.length} failed`}
    >
      {failed.slice(0, 5).map((one) => (
        <p key={one.id} className="break-words">
          {one.endpoint} on {one.surface}: {one.reason}
        </p>
      ))}
      {result.ok && "Endpoints can serve from the next request."}
    </Callout>
  );
}

type CurrentProofsProps = {
  readonly rows: readonly ProofStatus[];
  readonly query: RowsQuery;
  readonly runner: ProbeRunner;
};

function currentColumns({ run, begin }: ProbeRunner): readonly Column<ProofStatus>[] {
  return [
    {
      id: "endpoint",
      header: "Endpoint",
      sortValue: (row) => row.model,
      phone: "title",
      className: "md:max-w-72",
      cell: (row) => (
        <>
          <span className="block truncate font-medium">{row.model}</span>
          <span className="block truncate text-xs text-soft">{row.endpoint}</span>
        </>
      ),
    },
    { id: "surface", header: "Surface", sortValue: (row) => row.surface, cell: (row) => row.surface },
    {
      id: "proven",
      header: "Status",
      sortValue: (row) => Number(row.proven),
      cell: (row) => (
        <Badge tone={row.proven ? "good" : "bad"} dot>
          {!row.proven ? "Not proven" : row.images === false ? "Proven, no images" : "Proven"}
        </Badge>
      ),
    },
    { id: "at", header: "Proven", sortValue: (row) => row.proven_at, cell: (row) => <Time at={row.proven_at} /> },
    {
      id: "until",
      header: "Expires",
      sortValue: (row) => row.expires_at,
      phone: "hide",
      cell: (row) => <Time at={row.expires_at} none="–" />,
    },
    {
      id: "last",
      header: "Last result",
      className: "md:max-w-80 md:min-w-48",
      cell: (row) => (
        <span className="min-w-0 text-xs break-words text-soft">
          {row.last === null ? "Never probed" : row.last.reason}
          {row.failures > 0 && <span className="text-bad"> {row.failures} consecutive failures.</span>}
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
          aria-label={`Probe ${row.endpoint} on ${row.surface}`}
        >
          Probe
        </Button>
      ),
    },
  ];
}

function CurrentProofs({ rows, query, runner }: CurrentProofsProps) {
  return (
    <Table
      label="Probed endpoints"
      columns={currentColumns(runner)}
      rows={rows}
      keyOf={(row) => `${row.endpoint} ${row.surface}`}
      query={query}
      empty={
        <EmptyState
          icon="activity"
          title="No endpoints to probe"
          hint="No connected provider serves decisions or speech. Connect one under Credentials."
        />
      }
    />
  );
}

const HISTORY: readonly Column<Proof>[] = [
  { id: "at", header: "Time", sortValue: (row) => row.at, cell: (row) => <Time at={row.at} /> },
  {
    id: "endpoint",
    header: "Endpoint",
    sortValue: (row) => row.endpoint,
    phone: "title",
    className: "md:max-w-72",
    cell: (row) => <span className="block truncate">{row.endpoint}</span>,
  },
  { id: "surface", header: "Surface", sortValue: (row) => row.surface, cell: (row) => row.surface },
  {
    id: "result",
    header: "Result",
    sortValue: (row) => row.result,
    cell: (row) => <Badge tone={row.result === "proven" ? "good" : "bad"}>{row.result}</Badge>,
  },
  {
    id: "reason",
    header: "Reason",
    className: "md:max-w-96",
    cell: (row) => <span className="text-xs break-words text-soft">{row.reason}</span>,
  },
  {
    id: "took",
    header: "Duration",
    sortValue: (row) => row.duration_ms,
    align: "end",
    cell: (row) => <span className="figures">{durationText(row.duration_ms)}</span>,
  },
  {
    id: "tokens",
    header: "Tokens",
    sortValue: (row) => (row.input_tokens === null ? null : row.input_tokens + (row.output_tokens ?? 0)),
    align: "end",
    phone: "hide",
    cell: (row) => <Num value={row.input_tokens === null ? null : row.input_tokens + (row.output_tokens ?? 0)} />,
  },
  { id: "cause", header: "Triggered by", sortValue: (row) => row.cause, phone: "hide", cell: (row) => row.cause },
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
              { value: "", label: "All surfaces" },
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
              { value: "", label: "All results" },
              { value: "proven", label: "Proven" },
              { value: "failed", label: "Failed" },
            ]}
          />
        </Field>
      </Toolbar>
      <Table
        label="Probe history"
        columns={HISTORY}
        rows={list.rows}
        keyOf={(row) => row.id}
        query={list}
        empty={<EmptyState icon="activity" title="No probes yet" hint="Run the probes to prove endpoints." />}
      />
    </div>
  );
}
