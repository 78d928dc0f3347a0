import { AvailabilityBadge } from "../../ui/availability-badge.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { PageHeader } from "../../ui/layout.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { type Column, Table, useSortParam } from "../../ui/table.tsx";
import { Num } from "../../ui/values.tsx";
import { pathIn, useSearchParams } from "../../url-state.ts";
import { modelPath, modelsPath, type PublicModel, useCatalogueContext, useModels } from "./catalogue.ts";
import { LISTED_CURRENCY, ModelFilters, NO_FILTERS, useModelQuery } from "./model-filters.tsx";
import { Countries, Levels, MainPrice, PublicApiButton } from "./parts.tsx";

export function Screen() {
  const { query, currency, available } = useModelQuery();
  const { set } = useSearchParams();
  const { workspace } = useCatalogueContext();
  const models = useModels(query, workspace, available);
  const [model, ...facts] = COLUMNS;
  const columns = workspace === "" || model === undefined ? COLUMNS : [model, AVAILABILITY_COLUMN, ...facts];
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
        actions={
          <>
            <PublicApiButton paths={[{ path: modelsPath(query), description: "List these models" }]} />
            <LinkButton to="/app/models/compare">Compare</LinkButton>
          </>
        }
      />
      <ModelFilters />
      <Table
        label="Models"
        columns={columns}
        rows={models.rows}
        keyOf={({ id }) => id}
        linkOf={({ id, creator }) =>
          creator === NODE_CREATOR ? pathIn(workspace, "nodes") : `${modelPath(id)}${suffix}`
        }
        query={models}
        {...useSortParam("id")}
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

/** Models of the workspace's own nodes have no page in the catalogue. */
const NODE_CREATOR = "node";

const COLUMNS: readonly Column<PublicModel>[] = [
  {
    // Column IDs of sortable columns are the sort keys of the API.
    id: "id",
    header: "Model",
    sortable: true,
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
    sortable: true,
    descendingFirst: true,
    align: "end",
    cell: ({ context_tokens }) => <Num value={context_tokens} compact />,
  },
  {
    id: "price",
    header: "Price (in / out)",
    sortable: true,
    align: "end",
    cell: ({ lowest_price }) => <MainPrice price={lowest_price} />,
  },
  {
    id: "quality",
    header: "Quality",
    sortable: true,
    descendingFirst: true,
    align: "end",
    phone: "hide",
    cell: ({ quality }) => <Num value={quality?.score} />,
  },
  { id: "endpoints", header: "Endpoints", align: "end", cell: ({ endpoint_count }) => <Num value={endpoint_count} /> },
];

const AVAILABILITY_COLUMN: Column<PublicModel> = {
  id: "availability",
  header: "Availability",
  cell: (model) => <AvailabilityBadge of={model} />,
};
