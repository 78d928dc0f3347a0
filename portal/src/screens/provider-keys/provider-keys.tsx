import { useManage } from "../../api/hooks.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge, LevelBadge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Input, Select } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { PageHeader, Toolbar } from "../../ui/layout.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";
import { useSearchParam, useSearchParams, useWorkspace } from "../../url-state.ts";
import { KeyStatus } from "./key-status.tsx";
import { ProviderDrawer } from "./provider-drawer.tsx";
import { type ProviderRow, providerRows, STATES, USES } from "./provider-rows.ts";

export function Screen() {
  const { workspace } = useWorkspace();
  const [state, setState] = useSearchParam("state", "all");
  const [searchText, setSearchText] = useSearchParam("q");
  const { get, set } = useSearchParams();
  const providers = useManage("manageListProviders", { query: { workspace } });
  const keys = useManage("manageListOwnKeys", { params: { workspace } });
  const all = providerRows(providers.data?.data ?? [], keys.data?.data ?? []);
  const rows = all.filter((row) => (state === "all" || row.state === state) && matches(row, searchText));
  const open = (slug: string | null) => set({ provider: slug }, slug === null ? "replace" : "push");
  const chosen = all.find(({ provider }) => provider.slug === get("provider"));
  const retry = () => {
    void providers.refetch();
    void keys.refetch();
  };
  return (
    <>
      <PageHeader
        title="Provider keys"
        about="Your own keys at providers. Requests served with them are billed by the provider, not by the gateway. Keys are never shown again."
        actions={
          <ApiButton
            calls={[
              { id: "manageListOwnKeys", args: { params: { workspace } } },
              { id: "manageListProviders", args: { query: { workspace } } },
            ]}
          />
        }
      />
      <Toolbar>
        <Select
          aria-label="Status"
          options={STATES}
          value={state}
          onChange={(event) => setState(event.target.value)}
          className="max-w-44"
        />
        <Input
          type="search"
          aria-label="Search providers"
          placeholder="Search providers"
          value={searchText}
          onChange={(event) => setSearchText(event.target.value)}
          className="max-w-60"
        />
      </Toolbar>
      <Table
        label="Providers"
        id="provider-keys"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ provider }) => provider.slug}
        onOpen={({ provider }) => open(provider.slug)}
        query={{
          isPending: providers.isPending || keys.isPending,
          error: providers.error ?? keys.error,
          refetch: retry,
        }}
        empty={<NoRows state={state} showAll={() => set({ state: null, q: null })} />}
      />
      <ProviderDrawer key={chosen?.provider.slug} row={chosen} close={() => open(null)} />
    </>
  );
}

function matches({ provider }: ProviderRow, searchText: string): boolean {
  return `${provider.slug} ${provider.name} ${provider.operator}`.toLowerCase().includes(searchText.toLowerCase());
}

function NoRows({ state, showAll }: { readonly state: string; readonly showAll: () => void }) {
  return (
    <EmptyState
      icon="vault"
      title={state === "own" ? "No provider keys yet" : "No providers match"}
      hint={state === "own" ? "Select a provider and enter your API key." : "Clear the filters to see all providers."}
    >
      <Button onClick={showAll}>Show all providers</Button>
    </EmptyState>
  );
}

const COLUMNS: readonly Column<ProviderRow>[] = [
  {
    id: "name",
    header: "Provider",
    sortValue: ({ provider }) => provider.name,
    cell: ({ provider }) => (
      <>
        {provider.name}
        <span className="block font-mono text-xs font-normal text-soft">{provider.slug}</span>
      </>
    ),
  },
  { id: "state", header: "Connection", sortValue: ({ state }) => state, cell: (row) => <ConnectionBadge row={row} /> },
  {
    id: "key",
    header: "Your key",
    cell: ({ own }) =>
      own === undefined ? (
        <span className="text-faint">None</span>
      ) : (
        <span className="inline-flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-mono text-xs text-soft">••••{own.hint}</span>
          <KeyStatus result={own.result} openCircuits={own.set_aside.length} />
          {own.tested_at !== null && (
            <span className="text-xs text-soft">
              <Time at={own.tested_at} />
            </span>
          )}
        </span>
      ),
  },
  {
    id: "levels",
    header: "Levels",
    sortValue: ({ provider }) => provider.levels.toSorted().at(-1),
    cell: ({ provider }) => (
      <span className="inline-flex flex-wrap gap-1">
        {provider.levels.map((level) => (
          <LevelBadge key={level} level={level} />
        ))}
      </span>
    ),
  },
  {
    id: "models",
    header: "Models",
    sortValue: ({ provider }) => provider.models,
    align: "end",
    cell: ({ provider }) => provider.models,
  },
  {
    id: "actions",
    header: <span className="sr-only">Action</span>,
    align: "end",
    phone: "hide",
    // Decorative: the whole row is the button.
    cell: ({ own }) => (
      <span aria-hidden="true" className="inline-flex items-center gap-1 text-accent">
        {own === undefined ? "Connect" : "Manage"}
        <Icon name="right" className="size-3.5" />
      </span>
    ),
  },
];

function ConnectionBadge({ row: { own, state } }: { readonly row: ProviderRow }) {
  if (own !== undefined) {
    const use = USES.find(({ value }) => value === own.use);
    return (
      <Badge tone="accent" title={use?.description}>
        Your key, {use?.label.toLowerCase()}
      </Badge>
    );
  }
  return state === "operator" ? <Badge tone="good">Operator's key</Badge> : <Badge>Not connected</Badge>;
}
