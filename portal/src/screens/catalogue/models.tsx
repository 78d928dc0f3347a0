import { useSearchParams } from "../../address.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { PageHeader } from "../../ui/layout.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Num } from "../../ui/values.tsx";
import {
  modelPath,
  modelsPath,
  type PublicModel,
  useModels,
  useVerdicts,
  useViewpoint,
  type Verdict,
} from "./catalogue.ts";
import { LISTED, ModelFilters, NO_FILTERS, useModelQuery } from "./model-filters.tsx";
import { Countries, Levels, MainPrice, OpenCalls } from "./parts.tsx";

/** Every model of the catalogue, for anyone; inside a workspace also what its policy leaves of each. */
export function Screen() {
  const { query, currency } = useModelQuery();
  const { set } = useSearchParams();
  const models = useModels(query);
  const { workspace } = useViewpoint();
  const verdicts = useVerdicts(workspace);
  const columns = workspace === "" ? COLUMNS : [...COLUMNS, policyColumn(verdicts)];
  const suffix = query.has("currency") ? `?currency=${currency}` : currency === LISTED ? `?currency=${LISTED}` : "";
  return (
    <>
      <PageHeader
        title="Models"
        about={
          <>
            Every model with who serves it, where and for how much.{" "}
            <Link to="/app/sovereignty">What the levels mean</Link>
          </>
        }
        actions={<OpenCalls paths={[{ path: modelsPath(query), says: "The models as they are filtered here" }]} />}
      />
      <ModelFilters />
      <Table
        label="Models"
        columns={columns}
        rows={models.rows}
        keyOf={({ id }) => id}
        linkOf={({ id }) => `${modelPath(id)}${suffix}`}
        asked={models}
        empty={
          <EmptyState icon="cube" title="No model is like that" hint="Take a filter away, or lower the level.">
            <Button onClick={() => set(NO_FILTERS)}>Clear all filters</Button>
            <LinkButton to="/app/providers">Look at providers</LinkButton>
          </EmptyState>
        }
      />
    </>
  );
}

const COLUMNS: readonly Column<PublicModel>[] = [
  {
    id: "model",
    header: "Model",
    phone: "title",
    className: "md:min-w-72",
    cell: ({ name, id, sandbox }) => (
      <span className="grid min-w-0">
        <span className="flex flex-wrap items-center gap-x-2">
          {name}
          {sandbox && <Badge tone="info">simulated</Badge>}
        </span>
        <span className="font-mono text-xs font-normal [overflow-wrap:anywhere] text-soft">{id}</span>
      </span>
    ),
  },
  { id: "levels", header: "Levels", cell: ({ levels }) => <Levels levels={levels} /> },
  { id: "countries", header: "Countries", cell: ({ countries }) => <Countries codes={countries} /> },
  {
    id: "context",
    header: "Context",
    align: "end",
    cell: ({ context_tokens }) => <Num value={context_tokens} compact />,
  },
  {
    id: "price",
    header: "From, in / out",
    align: "end",
    cell: ({ lowest_price }) => <MainPrice price={lowest_price} />,
  },
  {
    id: "quality",
    header: "Quality",
    align: "end",
    phone: "hide",
    cell: ({ quality }) => <Num value={quality?.score} />,
  },
  { id: "endpoints", header: "Endpoints", align: "end", cell: ({ endpoint_count }) => <Num value={endpoint_count} /> },
];

function policyColumn(verdicts: ReadonlyMap<string, Verdict>): Column<PublicModel> {
  return {
    id: "policy",
    header: "Your policy",
    cell: ({ endpoints }) => {
      const judged = endpoints.flatMap(({ id }) => verdicts.get(id) ?? []);
      if (judged.length === 0) return <span className="text-faint">–</span>;
      const allowed = judged.filter(({ after }) => after).length;
      const reason = judged.find(({ after }) => !after)?.reason ?? undefined;
      if (allowed === 0)
        return (
          <Badge tone="bad" title={reason}>
            kept out
          </Badge>
        );
      return (
        <Badge tone={allowed === judged.length ? "good" : "warn"} title={reason}>
          {allowed} of {judged.length}
        </Badge>
      );
    },
  };
}
