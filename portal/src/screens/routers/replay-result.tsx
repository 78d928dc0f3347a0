import type { ReactNode } from "react";
import { percentText } from "../../format/number.ts";
import { durationText } from "../../format/time.ts";
import { LevelBadge } from "../../ui/badge.tsx";
import { cx } from "../../ui/class-names.ts";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Card, Stack, Stat, StatRow } from "../../ui/layout.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Money, Num, Time, Unknown } from "../../ui/values.tsx";
import type { Replay } from "./router-spec.ts";

/** Actual and replayed results: totals, by model and by level. */
export function ReplayResult({ replay }: { readonly replay: Replay }) {
  if (replay.compared === 0)
    return (
      <Card>
        <EmptyState
          icon="clock"
          title={replay.found === 0 ? "No requests in this period" : "No comparable requests"}
          hint={
            replay.found === 0 ? (
              "Choose a longer period or send a request."
            ) : (
              <SkippedRequests rows={replay.left_out} />
            )
          }
        />
      </Card>
    );
  return (
    <div role="status" aria-label="Replay result">
      <Stack>
        <StatRow>
          <Stat label="Compared" value={<Num value={replay.compared} />} note={`of ${replay.found} found`} />
          <Stat
            label="Rerouted"
            value={<Num value={replay.moved} />}
            note={percentText(replay.moved / replay.compared)}
          />
          <Stat
            label="Cost"
            value={<Change before={Number(replay.happened.cost)} after={Number(replay.replayed.cost)} better="less" />}
            note="With the same tokens"
          />
        </StatRow>
        <TotalsTable replay={replay} />
        <Models replay={replay} />
        <Levels replay={replay} />
        <Card title="Notes">
          <ul className="grid list-disc gap-1 pl-4 text-soft">
            <li>
              Requests up to <Time at={replay.until} as="short" />
              {replay.more ? "; the period contains more requests than the limit" : ""}.
            </li>
            {replay.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
          {replay.left_out.length > 0 && (
            <div className="mt-3 border-t pt-3">
              <SkippedRequests rows={replay.left_out} />
            </div>
          )}
        </Card>
      </Stack>
    </div>
  );
}

function SkippedRequests({ rows }: { readonly rows: Replay["left_out"] }) {
  return (
    <>
      <span className="font-medium text-ink">Not compared</span>
      {rows.map(({ reason, requests }) => (
        <span key={reason} className="block">
          {requests}: {reason}
        </span>
      ))}
    </>
  );
}

/** Relative change, coloured by whether it is an improvement. */
function Change({
  before,
  after,
  better,
}: {
  readonly before: number | null;
  readonly after: number | null;
  readonly better: "less" | "more";
}) {
  if (before === null || after === null || before === 0) return <Unknown />;
  const share = (after - before) / before;
  if (Math.abs(share) < 0.0005) return <span className="text-soft">No change</span>;
  const isGood = better === "less" ? share < 0 : share > 0;
  return (
    <span className={cx("figures font-medium", isGood ? "text-good" : "text-bad")}>
      {share > 0 ? "+" : "−"}
      {percentText(Math.abs(share))}
    </span>
  );
}

type ComparisonRow = {
  readonly name: string;
  readonly before: ReactNode;
  readonly after: ReactNode;
  readonly change: ReactNode;
};

const COMPARISON_COLUMNS: readonly Column<ComparisonRow>[] = [
  { id: "name", header: "Total", cell: ({ name }) => <span className="font-medium">{name}</span> },
  { id: "before", header: "Actual", align: "end", cell: ({ before }) => before },
  { id: "after", header: "With this router", align: "end", cell: ({ after }) => after },
  { id: "change", header: "Change", align: "end", cell: ({ change }) => change },
];

function TotalsTable({ replay }: { readonly replay: Replay }) {
  const { happened, replayed, currency } = replay;
  const time = (ms: number | null) => (ms === null ? <Unknown /> : durationText(ms));
  const score = (quality: number | null) => (quality === null ? <Unknown /> : quality.toFixed(3));
  const rows: readonly ComparisonRow[] = [
    {
      name: "Cost",
      before: <Money amount={happened.cost} currency={currency} as="price" />,
      after: <Money amount={replayed.cost} currency={currency} as="price" />,
      change: <Change before={Number(happened.cost)} after={Number(replayed.cost)} better="less" />,
    },
    {
      name: `Mean latency (${replay.latency_requests} measured)`,
      before: time(happened.latency_ms),
      after: time(replayed.latency_ms),
      change: <Change before={happened.latency_ms} after={replayed.latency_ms} better="less" />,
    },
    {
      name: `Mean quality (${replay.quality_requests} known)`,
      before: score(happened.quality),
      after: score(replayed.quality),
      change: <Change before={happened.quality} after={replayed.quality} better="more" />,
    },
  ];
  return (
    <Table label="Before and after" columns={COMPARISON_COLUMNS} rows={rows} keyOf={({ name }) => name} empty={null} />
  );
}

type ModelRow = Replay["models"][number];

function Models({ replay }: { readonly replay: Replay }) {
  const columns: readonly Column<ModelRow>[] = [
    { id: "model", header: "Model", sortValue: ({ model }) => model, cell: ({ model }) => model },
    {
      id: "requests",
      header: "Requests",
      sortValue: ({ replayed }) => replayed.requests,
      align: "end",
      cell: ({ happened, replayed }) => (
        <FromTo from={<Num value={happened.requests} />} to={<Num value={replayed.requests} />} />
      ),
    },
    {
      id: "cost",
      header: "Cost",
      sortValue: ({ replayed }) => Number(replayed.cost),
      align: "end",
      cell: ({ happened, replayed }) => (
        <FromTo
          from={<Money amount={happened.cost} currency={replay.currency} as="price" />}
          to={<Money amount={replayed.cost} currency={replay.currency} as="price" />}
        />
      ),
    },
  ];
  return <Table label="By model" columns={columns} rows={replay.models} keyOf={({ model }) => model} empty={null} />;
}

type LevelRow = Replay["levels"][number];

const LEVEL_COLUMNS: readonly Column<LevelRow>[] = [
  { id: "level", header: "Sovereignty level", cell: ({ level }) => <LevelBadge level={level} /> },
  {
    id: "requests",
    header: "Requests",
    align: "end",
    cell: ({ happened, replayed }) => <FromTo from={<Num value={happened} />} to={<Num value={replayed} />} />,
  },
];

function Levels({ replay }: { readonly replay: Replay }) {
  return (
    <Table label="By level" columns={LEVEL_COLUMNS} rows={replay.levels} keyOf={({ level }) => level} empty={null} />
  );
}

function FromTo({ from, to }: { readonly from: ReactNode; readonly to: ReactNode }) {
  return (
    <span className="inline-flex items-baseline gap-2 whitespace-nowrap">
      <span className="text-soft">{from}</span>
      <span aria-hidden="true" className="text-faint">
        →
      </span>
      <span className="sr-only">to</span>
      <span className="font-medium">{to}</span>
    </span>
  );
}
