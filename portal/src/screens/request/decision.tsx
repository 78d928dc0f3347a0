import { moneyText } from "../../format/money.ts";
import { counted, numberText } from "../../format/number.ts";
import { durationText } from "../../format/time.ts";
import { Badge, LevelBadge } from "../../ui/badge.tsx";
import { Card, KeyValue } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { UntrustedText } from "../../ui/untrusted-text.tsx";
import { Unknown } from "../../ui/values.tsx";
import { useWorkspace } from "../../url-state.ts";
import type { RequestDetail } from "./detail.ts";

type Plan = NonNullable<RequestDetail["decision"]>;
type Candidate = Plan["candidates"][number];

const PARTS = [
  { name: "quality", label: "Quality", bar: "bg-c4" },
  { name: "cost", label: "Cost", bar: "bg-c3" },
  { name: "latency", label: "Latency", bar: "bg-c1" },
] as const;

/** Longer lists start collapsed. */
const SHOWN_AT_ONCE = 8;

const NANOS = 1e9;

/** Planned candidates in order, and excluded ones with reasons. */
export function Decision({ request }: { readonly request: RequestDetail }) {
  const { decision } = request;
  if (decision === null)
    return (
      <Card title="Routing decision">
        <p className="text-soft">The request was rejected before routing.</p>
      </Card>
    );
  const positions = new Map(decision.order.map((endpoint, position) => [endpoint, position]));
  const positionOf = ({ endpoint }: Candidate) => positions.get(endpoint) ?? decision.order.length;
  const planned = decision.candidates
    .filter(({ outcome }) => outcome === "planned")
    .toSorted((a, b) => positionOf(a) - positionOf(b));
  const excluded = decision.candidates.filter(({ outcome }) => outcome === "excluded");
  return (
    <Card
      title="Routing decision"
      about={`${planned.length} of ${counted(decision.candidates.length, "candidate")} eligible`}
      flush
    >
      <DecisionSummary decision={decision} />
      <div className="border-t p-4">
        <Table
          label="Planned candidates"
          columns={plannedColumns(decision, request)}
          rows={planned}
          keyOf={({ endpoint }) => endpoint}
          empty={
            <p className="px-5 py-4 text-soft">
              {excluded.length === 0
                ? "No candidates: no endpoint serves this model."
                : "No eligible candidates. See the reasons below."}
            </p>
          }
        />
      </div>
      {excluded.length > 0 && (
        <details open={excluded.length <= SHOWN_AT_ONCE} className="border-t px-5 py-3">
          <summary className="py-1 font-medium">
            {excluded.length} excluded {excluded.length === 1 ? "candidate" : "candidates"}
          </summary>
          <div className="py-3">
            <Table
              label="Excluded candidates"
              columns={EXCLUDED}
              rows={excluded}
              keyOf={({ endpoint, reason }) => `${endpoint} ${reason}`}
              empty={null}
            />
          </div>
        </details>
      )}
    </Card>
  );
}

function DecisionSummary({ decision }: { readonly decision: Plan }) {
  const { at } = useWorkspace();
  const { reason, router, weights, session, demand } = decision;
  const needs = [...(demand?.needs ?? []), ...(demand?.parameters ?? [])];
  const rows = [
    ...(reason === undefined ? [] : [{ name: "Reason", value: <UntrustedText text={reason} wrap /> }]),
    ...(router === undefined
      ? []
      : [
          {
            name: "Router",
            value: (
              <Link to={at("routers")}>
                {router.slug}, version {router.version}
              </Link>
            ),
          },
        ]),
    ...(weights === undefined
      ? []
      : [
          {
            name: "Weights",
            value: PARTS.map(({ name, label }) => `${label.toLowerCase()} ${numberText(weights[name])}`).join(" · "),
          },
        ]),
    ...(session === undefined
      ? []
      : [
          {
            name: "Session affinity",
            value: (
              <>
                <UntrustedText text={session.endpoint} wrap mono /> has {counted(session.tokens, "token")} cached;{" "}
                {SESSION_TEXTS[session.use]}
              </>
            ),
          },
        ]),
    ...(needs.length === 0
      ? []
      : [{ name: "Requirements", value: <UntrustedText text={needs.join(", ")} wrap mono /> }]),
  ];
  if (rows.length === 0) return null;
  return (
    <div className="px-5 py-4">
      <KeyValue rows={rows} />
    </div>
  );
}

const SESSION_TEXTS: Readonly<Record<NonNullable<Plan["session"]>["use"], string>> = {
  first: "tried first",
  weighed: "included in the score",
  not_eligible: "not eligible for this request",
};

/** Score bars if candidates were scored, and the expected cost and latency. */
function Scores({ scores, currency }: { readonly scores: Candidate["scores"]; readonly currency: string }) {
  if (scores === null) return <span className="text-xs text-soft">Not scored</span>;
  const { expected_cost_nanos: nanos, expected_latency_ms: ms } = scores;
  const expected = [
    ...(nanos === undefined ? [] : [moneyText((nanos / NANOS).toFixed(9), currency, "price")]),
    ...(ms === undefined ? [] : [durationText(ms)]),
  ];
  const isScored = PARTS.some(({ name }) => scores[name] !== undefined);
  return (
    <span className="grid w-46 gap-1 max-md:w-40">
      {(isScored ? PARTS : []).map(({ name, label, bar }) => (
        <span key={name} className="grid grid-cols-[3.25rem_1fr_2rem] items-center gap-1.5 text-2xs">
          <span className="text-soft">{label}</span>
          <Bar share={scores[name]} colour={bar} />
          <ScoreValue share={scores[name]} />
        </span>
      ))}
      <span className="figures text-2xs whitespace-nowrap text-soft">
        {expected.length === 0 ? "No estimate" : `Expected ${expected.join(", ")}`}
      </span>
    </span>
  );
}

function Bar({ share, colour }: { readonly share: number | undefined; readonly colour: string }) {
  const percent = Math.round(Math.max(0, Math.min(1, share ?? 0)) * 100);
  return (
    <span aria-hidden="true" className="h-1.5 overflow-hidden rounded-full bg-line">
      <span className={`block h-full rounded-full ${colour}`} style={{ width: `${percent}%` }} />
    </span>
  );
}

function ScoreValue({ share }: { readonly share: number | undefined }) {
  return share === undefined ? <Unknown /> : <span className="figures text-right">{share.toFixed(2)}</span>;
}

function EndpointCell({ row }: { readonly row: Candidate }) {
  return (
    <span className="grid max-w-80 min-w-0 gap-0.5">
      <UntrustedText text={row.model} />
      <span className="flex min-w-0 items-center gap-1.5 text-xs text-soft">
        <LevelBadge level={row.level} isAttested={row.attested} />
        <UntrustedText text={row.endpoint} mono className="text-xs" />
      </span>
    </span>
  );
}

const WIDE_REASON = "min-w-48 max-w-96 [overflow-wrap:anywhere]";

function plannedColumns(decision: Plan, request: RequestDetail): readonly Column<Candidate>[] {
  return [
    {
      id: "place",
      header: "#",
      phone: "hide",
      cell: ({ endpoint }) => <span className="figures text-soft">{decision.order.indexOf(endpoint) + 1 || "–"}</span>,
    },
    { id: "endpoint", header: "Endpoint", phone: "title", cell: (row) => <EndpointCell row={row} /> },
    {
      id: "outcome",
      header: "Outcome",
      cell: ({ endpoint }) =>
        endpoint === request.endpoint ? (
          <Badge tone="good">Served</Badge>
        ) : request.attempts.some((attempt) => attempt.endpoint === endpoint) ? (
          <Badge tone="warn">Attempted</Badge>
        ) : (
          <Badge>Planned</Badge>
        ),
    },
    {
      id: "scores",
      header: "Score details",
      cell: ({ scores }) => <Scores scores={scores} currency={request.currency} />,
    },
    {
      id: "total",
      header: "Score",
      sortValue: ({ scores }) => scores?.["total"],
      align: "end",
      cell: ({ scores }) => <ScoreValue share={scores?.["total"]} />,
    },
    {
      id: "reason",
      header: "Reason",
      className: WIDE_REASON,
      cell: ({ reason }) => <UntrustedText text={reason} wrap />,
    },
  ];
}

const EXCLUDED: readonly Column<Candidate>[] = [
  { id: "endpoint", header: "Endpoint", cell: (row) => <EndpointCell row={row} /> },
  { id: "outcome", header: "Outcome", cell: () => <Badge tone="bad">Excluded</Badge> },
  {
    id: "reason",
    header: "Reason",
    className: WIDE_REASON,
    cell: ({ reason }) => <UntrustedText text={reason} wrap />,
  },
];
