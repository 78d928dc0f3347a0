import { useWorkspace } from "../../address.ts";
import { moneyText } from "../../format/money.ts";
import { counted, numberText } from "../../format/number.ts";
import { durationText } from "../../format/time.ts";
import { Badge, LevelBadge } from "../../ui/badge.tsx";
import { Card, KeyValue } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { Logged } from "../../ui/logged.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Unknown } from "../../ui/values.tsx";
import type { RequestDetail } from "./detail.ts";

type Plan = NonNullable<RequestDetail["decision"]>;
type Candidate = Plan["candidates"][number];

const PARTS = [
  { name: "quality", label: "Quality", bar: "bg-c4" },
  { name: "cost", label: "Cost", bar: "bg-c3" },
  { name: "latency", label: "Latency", bar: "bg-c1" },
] as const;

/** Fewer than this are shown at once; more are behind a click. */
const SHOWN_AT_ONCE = 8;

const NANOS = 1e9;

/** Every endpoint that could have served, in the order it would have been tried, and why the others could not. */
export function Decision({ request }: { readonly request: RequestDetail }) {
  const { decision } = request;
  if (decision === null)
    return (
      <Card title="Routing decision">
        <p className="text-soft">The request was refused before a plan was made, so no endpoint was considered.</p>
      </Card>
    );
  const places = new Map(decision.order.map((endpoint, place) => [endpoint, place]));
  const placeOf = ({ endpoint }: Candidate) => places.get(endpoint) ?? decision.order.length;
  const planned = decision.candidates
    .filter(({ outcome }) => outcome === "planned")
    .toSorted((a, b) => placeOf(a) - placeOf(b));
  const excluded = decision.candidates.filter(({ outcome }) => outcome === "excluded");
  return (
    <Card
      title="Routing decision"
      about={`${planned.length} of ${counted(decision.candidates.length, "candidate")} could serve it`}
      flush
    >
      <Why decision={decision} />
      <div className="border-t p-4">
        <Table
          label="Candidates in the order they would be tried"
          columns={plannedColumns(decision, request)}
          rows={planned}
          keyOf={({ endpoint }) => endpoint}
          empty={
            <p className="px-5 py-4 text-soft">
              {excluded.length === 0
                ? "There was no candidate: nothing here answers to this model's name."
                : "No candidate was left: each one fell out, for the reasons below."}
            </p>
          }
        />
      </div>
      {excluded.length > 0 && (
        <details open={excluded.length <= SHOWN_AT_ONCE} className="border-t px-5 py-3">
          <summary className="py-1 font-medium">
            {excluded.length} {excluded.length === 1 ? "candidate" : "candidates"} fell out
          </summary>
          <div className="py-3">
            <Table
              label="Candidates that fell out"
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

function Why({ decision }: { readonly decision: Plan }) {
  const { at } = useWorkspace();
  const { reason, router, weights, session, demand } = decision;
  const needs = [...(demand?.needs ?? []), ...(demand?.parameters ?? [])];
  const rows = [
    ...(reason === undefined ? [] : [{ name: "Why this order", value: <Logged text={reason} wrap /> }]),
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
            name: "Session before",
            value: (
              <>
                <Logged text={session.endpoint} wrap mono /> saw {counted(session.tokens, "token")} of it;{" "}
                {SESSION_WORDS[session.use]}
              </>
            ),
          },
        ]),
    ...(needs.length === 0 ? [] : [{ name: "Needed", value: <Logged text={needs.join(", ")} wrap mono /> }]),
  ];
  if (rows.length === 0) return null;
  return (
    <div className="px-5 py-4">
      <KeyValue rows={rows} />
    </div>
  );
}

const SESSION_WORDS: Readonly<Record<NonNullable<Plan["session"]>["use"], string>> = {
  first: "it came first again",
  weighed: "that was weighed with the rest",
  not_eligible: "it could not serve this time",
};

/** Bars where candidates were weighed against each other; what was expected of each one in any case. */
function Scores({ scores, currency }: { readonly scores: Candidate["scores"]; readonly currency: string }) {
  if (scores === null) return <span className="text-xs text-soft">not scored</span>;
  const { expected_cost_nanos: nanos, expected_latency_ms: ms } = scores;
  const expected = [
    ...(nanos === undefined ? [] : [moneyText((nanos / NANOS).toFixed(9), currency)]),
    ...(ms === undefined ? [] : [durationText(ms)]),
  ];
  const isWeighed = PARTS.some(({ name }) => scores[name] !== undefined);
  return (
    <span className="grid w-46 gap-1 max-md:w-40">
      {(isWeighed ? PARTS : []).map(({ name, label, bar }) => (
        <span key={name} className="grid grid-cols-[3.25rem_1fr_2rem] items-center gap-1.5 text-2xs">
          <span className="text-soft">{label}</span>
          <Bar share={scores[name]} look={bar} />
          <Share share={scores[name]} />
        </span>
      ))}
      <span className="figures text-2xs whitespace-nowrap text-soft">
        {expected.length === 0 ? "nothing was expected of it" : `expected ${expected.join(", ")}`}
      </span>
    </span>
  );
}

function Bar({ share, look }: { readonly share: number | undefined; readonly look: string }) {
  const percent = Math.round(Math.max(0, Math.min(1, share ?? 0)) * 100);
  return (
    <span aria-hidden="true" className="h-1.5 overflow-hidden rounded-full bg-line">
      <span className={`block h-full rounded-full ${look}`} style={{ width: `${percent}%` }} />
    </span>
  );
}

function Share({ share }: { readonly share: number | undefined }) {
  return share === undefined ? <Unknown /> : <span className="figures text-right">{share.toFixed(2)}</span>;
}

function EndpointCell({ row }: { readonly row: Candidate }) {
  return (
    <span className="grid max-w-80 min-w-0 gap-0.5">
      <Logged text={row.model} />
      <span className="flex min-w-0 items-center gap-1.5 text-xs text-soft">
        <LevelBadge level={row.level} />
        <Logged text={row.endpoint} mono className="text-xs" />
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
          <Badge tone="good">served</Badge>
        ) : request.attempts.some((attempt) => attempt.endpoint === endpoint) ? (
          <Badge tone="warn">tried</Badge>
        ) : (
          <Badge>planned</Badge>
        ),
    },
    { id: "scores", header: "Scores", cell: ({ scores }) => <Scores scores={scores} currency={request.currency} /> },
    {
      id: "total",
      header: "Together",
      align: "end",
      cell: ({ scores }) => <Share share={scores?.["total"]} />,
    },
    { id: "reason", header: "Why here", className: WIDE_REASON, cell: ({ reason }) => <Logged text={reason} wrap /> },
  ];
}

const EXCLUDED: readonly Column<Candidate>[] = [
  { id: "endpoint", header: "Endpoint", cell: (row) => <EndpointCell row={row} /> },
  { id: "outcome", header: "Outcome", cell: () => <Badge tone="bad">fell out</Badge> },
  { id: "reason", header: "Why", className: WIDE_REASON, cell: ({ reason }) => <Logged text={reason} wrap /> },
];
