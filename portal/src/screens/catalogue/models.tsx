import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { PageHeader } from "../../ui/layout.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Num } from "../../ui/values.tsx";
import { useSearchParams } from "../../url-state.ts";
import {
  modelPath,
  modelsPath,
  type PublicModel,
  useCatalogueContext,
  useModels,
  useVerdicts,
  type Verdict,
} from "./catalogue.ts";
import { LISTED_CURRENCY, ModelFilters, NO_FILTERS, useModelQuery } from "./model-filters.tsx";
import { Countries, Levels, MainPrice, PublicApiButton } from "./parts.tsx";

export function Screen() {
  const { query, currency } = useModelQuery();
  const { set } = useSearchParams();
  const models = useModels(query);
  const { workspace } = useCatalogueContext();
  const verdicts = useVerdicts(workspace);
  const columns = workspace === "" ? COLUMNS : [...COLUMNS, policyColumn(verdicts)];
  const suffix = query.has("currency")
    ? `?currency=${currency}`
    : currency === LISTED_CURRENCY
      ? `?currency=${LISTED_CURRENCY}`
      : "";
  return (
    <>
      <PageHeader
        title="Models"
        about={
          <>
            Models with their providers, locations and prices.{" "}
            <Link to="/app/sovereignty">About sovereignty levels</Link>
          </>
        }
        actions={<PublicApiButton paths={[{ path: modelsPath(query), description: "List these models" }]} />}
      />
      <ModelFilters />
      <Table
        label="Models"
        columns={columns}
        rows={models.rows}
        keyOf={({ id }) => id}
        linkOf={({ id }) => `${modelPath(id)}${suffix}`}
        query={models}
        empty={
          <EmptyState icon="cube" title="No models match" hint="Remove a filter or lower the level.">
            <Button onClick={() => set(NO_FILTERS)}>Clear all filters</Button>
            <LinkButton to="/app/providers">View providers</LinkButton>
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
          {sandbox && <Badge tone="info">Simulated</Badge>}
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
    header: "Price (in / out)",
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
    header: "Policy",
    cell: ({ endpoints }) => {
      const policyVerdicts = endpoints.flatMap(({ id }) => verdicts.get(id) ?? []);
      if (policyVerdicts.length === 0) return <span className="text-faint">–</span>;
      const allowed = policyVerdicts.filter(({ after }) => after).length;
      const reason = policyVerdicts.find(({ after }) => !after)?.reason ?? undefined;
      if (allowed === 0)
        return (
          <Badge tone="bad" title={reason}>
            Excluded
          </Badge>
        );
      return (
        <Badge tone={allowed === policyVerdicts.length ? "good" : "warn"} title={reason}>
          {allowed} of {policyVerdicts.length}
        </Badge>
      );
    },
  };
}
