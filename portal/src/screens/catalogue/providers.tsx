import { useEffect, useState } from "react";
import { countryName } from "../../format/country.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { PageHeader, Toolbar } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { type Column, Table, useSortParam } from "../../ui/table.tsx";
import { useDebounced } from "../../ui/use-debounced.ts";
import { Country, Num } from "../../ui/values.tsx";
import { useSearchParams } from "../../url-state.ts";
import { type PublicProvider, providerPath, useProviders } from "./catalogue.ts";
import { LEVEL_OPTIONS, levelsFrom } from "./levels.ts";
import { Countries, DataHandling, Levels, PublicApiButton } from "./parts.tsx";

export function Screen() {
  const { get, set } = useSearchParams();
  const query = useProviderQuery();
  const providers = useProviders(query);
  const allProviders = useProviders().data?.data ?? [];
  const countryOptions = [...new Set(allProviders.flatMap(({ countries }) => countries))]
    .map((value) => ({ value, label: countryName(value) }))
    .toSorted((a, b) => a.label.localeCompare(b.label));
  return (
    <>
      <PageHeader
        title="Providers"
        about={
          <>
            Who runs the models, where and under which jurisdiction, with evidence.{" "}
            <Link to="/app/sovereignty">About sovereignty levels</Link>
          </>
        }
        actions={
          <PublicApiButton
            paths={[{ path: `/v1/public/providers?limit=1000${query}`, description: "List these providers" }]}
          />
        }
      />
      <Toolbar>
        <SearchField />
        <Field label="Sovereignty" className="w-40">
          <Select
            value={get("level")}
            options={LEVEL_OPTIONS}
            onChange={(event) => set({ level: event.target.value })}
          />
        </Field>
        <Field label="Country" className="w-44">
          <Select
            value={get("country")}
            options={[{ value: "", label: "All countries" }, ...countryOptions]}
            onChange={(event) => set({ country: event.target.value })}
          />
        </Field>
      </Toolbar>
      <Table
        label="Providers"
        columns={COLUMNS}
        rows={providers.data?.data ?? []}
        keyOf={({ slug }) => slug}
        linkOf={({ slug }) => providerPath(slug)}
        query={providers}
        {...useSortParam("name")}
        empty={
          <EmptyState icon="building" title="No providers match" hint="Remove a filter or lower the level.">
            <Button onClick={() => set({ q: null, level: null, country: null })}>Clear all filters</Button>
          </EmptyState>
        }
      />
    </>
  );
}

function useProviderQuery(): string {
  const { get } = useSearchParams();
  const filters = { q: get("q").trim(), level: levelsFrom(get("level")), country: get("country") };
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ""));
  return query.size === 0 ? "" : `&${query}`;
}

function SearchField() {
  const { get, set } = useSearchParams();
  const urlValue = get("q");
  const [text, setText] = useState(urlValue);
  const debounced = useDebounced(text);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing updates the URL
  useEffect(() => {
    if (debounced !== urlValue) set({ q: debounced });
  }, [debounced]);
  useEffect(() => setText(urlValue), [urlValue]);
  return (
    <Field label="Search" className="w-full sm:w-64">
      <Input type="search" value={text} onChange={(event) => setText(event.target.value)} placeholder="Provider name" />
    </Field>
  );
}

const COLUMNS: readonly Column<PublicProvider>[] = [
  {
    id: "name",
    header: "Provider",
    sortValue: ({ name }) => name,
    phone: "title",
    className: "md:min-w-48",
    cell: ({ name, operator, sandbox }) => (
      <span className="grid">
        <span className="flex flex-wrap items-center gap-x-2">
          {name}
          {sandbox && <Badge tone="info">Simulated</Badge>}
        </span>
        {operator !== name && <span className="text-xs font-normal text-soft">{operator}</span>}
      </span>
    ),
  },
  {
    id: "level",
    header: "Levels",
    sortValue: ({ levels }) => highestLevel(levels),
    cell: ({ levels }) => <Levels levels={levels} />,
  },
  {
    id: "seat",
    header: "Headquarters",
    sortValue: ({ seat_country }) => seat_country,
    cell: ({ seat_country }) => <Country code={seat_country} />,
  },
  { id: "countries", header: "Countries", cell: ({ countries }) => <Countries codes={countries} /> },
  { id: "data", header: "Data handling", cell: (provider) => <DataHandling of={provider} /> },
  {
    id: "models",
    header: "Models",
    sortValue: ({ model_count }) => model_count,
    align: "end",
    cell: ({ model_count }) => <Num value={model_count} />,
  },
];

function highestLevel(levels: PublicProvider["levels"]): string | undefined {
  return levels
    .filter((level) => level !== "UNCLASSIFIED")
    .toSorted()
    .at(-1);
}
