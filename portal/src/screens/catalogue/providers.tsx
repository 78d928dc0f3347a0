import { useEffect, useState } from "react";
import { useSearchParams } from "../../address.ts";
import { countryName } from "../../format/country.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { PageHeader, Toolbar } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { type Column, sortOf, sortRows, sortText, Table } from "../../ui/table.tsx";
import { useCalm } from "../../ui/use-calm.ts";
import { Country, Num } from "../../ui/values.tsx";
import { type PublicProvider, providerPath, useProviders } from "./catalogue.ts";
import { LEVEL_OPTIONS, levelsFrom } from "./levels.ts";
import { Countries, DataHandling, Levels, OpenCalls } from "./parts.tsx";

/** Who serves, under which law, and what of the data they keep. */
export function Screen() {
  const { get, set } = useSearchParams();
  const query = useProviderQuery();
  const providers = useProviders(query);
  const everyone = useProviders().data?.data ?? [];
  const sort = sortOf(get("sort", "name"));
  const rows = sortRows(providers.data?.data ?? [], sort, sortValue);
  const seats = [...new Set(everyone.flatMap(({ countries }) => countries))]
    .map((value) => ({ value, label: countryName(value) }))
    .toSorted((a, b) => a.label.localeCompare(b.label));
  return (
    <>
      <PageHeader
        title="Providers"
        about={
          <>
            Who runs the models, where, under which law, and the evidence for it.{" "}
            <Link to="/app/sovereignty">What the levels mean</Link>
          </>
        }
        actions={
          <OpenCalls
            paths={[
              { path: `/v1/public/providers?limit=1000${query}`, says: "The providers as they are filtered here" },
            ]}
          />
        }
      />
      <Toolbar>
        <Words />
        <Field label="Sovereignty" className="w-40">
          <Select
            value={get("level")}
            options={LEVEL_OPTIONS}
            onChange={(event) => set({ level: event.target.value })}
          />
        </Field>
        <Field label="Computes in" className="w-44">
          <Select
            value={get("country")}
            options={[{ value: "", label: "Every country" }, ...seats]}
            onChange={(event) => set({ country: event.target.value })}
          />
        </Field>
      </Toolbar>
      <Table
        label="Providers"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ slug }) => slug}
        linkOf={({ slug }) => providerPath(slug)}
        asked={providers}
        sort={sort}
        onSort={(next) => set({ sort: sortText(next) === "name" ? null : sortText(next) })}
        empty={
          <EmptyState icon="building" title="No provider is like that" hint="Take a filter away, or lower the level.">
            <Button onClick={() => set({ q: null, level: null, country: null })}>Clear all filters</Button>
          </EmptyState>
        }
      />
    </>
  );
}

function useProviderQuery(): string {
  const { get } = useSearchParams();
  const asked = { q: get("q").trim(), level: levelsFrom(get("level")), country: get("country") };
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== ""));
  return query.size === 0 ? "" : `&${query}`;
}

function Words() {
  const { get, set } = useSearchParams();
  const inAddress = get("q");
  const [text, setText] = useState(inAddress);
  const calm = useCalm(text);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what was typed moves the address
  useEffect(() => {
    if (calm !== inAddress) set({ q: calm });
  }, [calm]);
  useEffect(() => setText(inAddress), [inAddress]);
  return (
    <Field label="Search" className="w-full sm:w-64">
      <Input
        type="search"
        value={text}
        onChange={(event) => setText(event.target.value)}
        placeholder="Name of the provider"
      />
    </Field>
  );
}

const COLUMNS: readonly Column<PublicProvider>[] = [
  {
    id: "name",
    header: "Provider",
    sortable: true,
    phone: "title",
    className: "md:min-w-48",
    cell: ({ name, operator, sandbox }) => (
      <span className="grid">
        <span className="flex flex-wrap items-center gap-x-2">
          {name}
          {sandbox && <Badge tone="info">simulated</Badge>}
        </span>
        {operator !== name && <span className="text-xs font-normal text-soft">{operator}</span>}
      </span>
    ),
  },
  { id: "level", header: "Levels", sortable: true, cell: ({ levels }) => <Levels levels={levels} /> },
  { id: "seat", header: "Seat", sortable: true, cell: ({ seat_country }) => <Country code={seat_country} /> },
  { id: "countries", header: "Computes in", cell: ({ countries }) => <Countries codes={countries} /> },
  { id: "data", header: "Data", cell: (provider) => <DataHandling of={provider} /> },
  {
    id: "models",
    header: "Models",
    align: "end",
    sortable: true,
    cell: ({ model_count }) => <Num value={model_count} />,
  },
];

function sortValue(provider: PublicProvider, by: string): string | number | null {
  if (by === "level")
    return (
      provider.levels
        .filter((level) => level !== "UNCLASSIFIED")
        .toSorted()
        .at(-1) ?? null
    );
  if (by === "seat") return provider.seat_country;
  return by === "models" ? provider.model_count : provider.name.toLowerCase();
}
