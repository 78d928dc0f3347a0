import { Fragment, useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge, LevelBadge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { Callout, PageHeader, Toolbar } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Country, Num, Unknown } from "../../ui/values.tsx";
import { useSearchParams } from "../../url-state.ts";
import { CredentialDrawer } from "./credential-drawer.tsx";
import type { Provider } from "./rows.ts";

type CredentialTestResult = ApiResponse<"manageTestProvider">;

function TestButton({ provider }: { readonly provider: Provider }) {
  const [testResult, setTestResult] = useState<CredentialTestResult | null>(null);
  const test = useManageMutation("manageTestProvider", { stale: [], onDone: setTestResult });
  const close = () => {
    setTestResult(null);
    test.reset();
  };
  return (
    <>
      <Button
        size="small"
        busy={test.isPending}
        onClick={() => test.mutate({ params: { provider: provider.slug }, body: {} })}
        aria-label={`Test ${provider.name}`}
      >
        Test
      </Button>
      <Dialog
        open={testResult !== null || test.error !== null}
        onClose={close}
        title={`Test result for ${provider.name}`}
        footer={<Button onClick={close}>Done</Button>}
      >
        {testResult !== null && (
          <Callout
            tone={testResult.result === "accepted" ? "good" : testResult.result === "refused" ? "bad" : "warn"}
            title={{ accepted: "Accepted", refused: "Rejected", unclear: "Inconclusive" }[testResult.result]}
          >
            {testResult.detail}
          </Callout>
        )}
        <ErrorNote error={test.error} />
      </Dialog>
    </>
  );
}

/** Allows line breaks after underscores only. */
function breakable(name: string) {
  return name.split(/(?<=_)/).map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other identity
    <Fragment key={at}>
      {part}
      <wbr />
    </Fragment>
  ));
}

function CredentialStatus({ row }: { readonly row: Provider }) {
  if (row.sandbox) return <Badge tone="info">Simulated</Badge>;
  if (!row.connected)
    return row.stored ? (
      <Badge tone="bad">Stored, unusable</Badge>
    ) : (
      <Badge title="Workspaces with their own key can use this provider">Workspace keys only</Badge>
    );
  const source =
    row.credential === "stored"
      ? "Stored credential"
      : row.stored
        ? "Setting (overrides stored credential)"
        : "Setting";
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2">
      <Badge tone="good" dot>
        Connected
      </Badge>
      <span className="text-xs text-soft">{source}</span>
    </span>
  );
}

const columnsFor = (open: (slug: string) => void): readonly Column<Provider>[] => [
  {
    id: "name",
    header: "Provider",
    sortValue: (row) => row.name,
    phone: "title",
    className: "md:min-w-48",
    cell: (row) => (
      <>
        <span className="block font-medium">{row.name}</span>
        <span className="block text-xs text-soft">{row.operator}</span>
      </>
    ),
  },
  {
    id: "state",
    header: "Status",
    sortValue: (row) => Number(row.connected),
    cell: (row) => <CredentialStatus row={row} />,
  },
  {
    id: "levels",
    header: "Levels",
    sortValue: (row) => row.levels.toSorted().at(-1),
    phone: "hide",
    cell: (row) => (
      <span className="flex flex-wrap gap-1">
        {row.levels.map((level) => (
          <LevelBadge key={level} level={level} />
        ))}
      </span>
    ),
  },
  {
    id: "countries",
    header: "Countries",
    phone: "hide",
    cell: (row) =>
      row.countries.length === 0 ? (
        <Unknown />
      ) : (
        <span className="flex flex-wrap gap-1">
          {row.countries.slice(0, 6).map((code) => (
            <Country key={code} code={code} short />
          ))}
          {row.countries.length > 6 && <span className="text-xs text-soft">and {row.countries.length - 6} more</span>}
        </span>
      ),
  },
  {
    id: "models",
    header: "Models",
    sortValue: (row) => row.models,
    align: "end",
    cell: (row) => <Num value={row.models} />,
  },
  {
    id: "endpoints",
    header: "Endpoints",
    sortValue: (row) => row.endpoints,
    align: "end",
    cell: (row) => (
      <Link to={`/app/operator/health?provider=${row.slug}&show=all`} className="figures">
        {row.endpoints}
      </Link>
    ),
  },
  {
    id: "setting",
    header: "Setting",
    className: "md:max-w-56",
    cell: (row) =>
      row.setting === null ? (
        <span className="text-faint">Not required</span>
      ) : (
        <code className="font-mono text-xs">{breakable(row.setting)}</code>
      ),
  },
  {
    id: "actions",
    header: <span className="sr-only">Actions</span>,
    align: "end",
    cell: (row) => (
      <span className="inline-flex flex-wrap justify-end gap-2">
        {row.connected && <TestButton provider={row} />}
        {row.setting !== null && (
          <Button
            size="small"
            onClick={() => open(row.slug)}
            aria-label={`${row.connected || row.stored ? "Manage" : "Connect"} ${row.name}`}
          >
            {row.connected || row.stored ? "Manage" : "Connect"}
          </Button>
        )}
      </span>
    ),
  },
];

export function Screen() {
  const search = useSearchParams();
  const providers = useManage("manageListProviders", {});
  const searchText = search.get("q").toLowerCase();
  const state = search.get("state");
  const rows = (providers.data?.data ?? []).filter(
    (row) =>
      (state === "" || (state === "connected") === row.connected) &&
      (searchText === "" || `${row.slug} ${row.name} ${row.operator}`.toLowerCase().includes(searchText)),
  );
  const open = (slug: string | null) => search.set({ provider: slug }, slug === null ? "replace" : "push");
  const chosen = providers.data?.data.find(({ slug, setting }) => setting !== null && slug === search.get("provider"));
  return (
    <>
      <PageHeader
        title="Provider credentials"
        about="Providers connected for all workspaces. Credentials are never shown."
        actions={
          <ApiButton
            calls={[
              { id: "manageListProviders", args: {}, description: "List providers and their status" },
              {
                id: "managePutProvider",
                args: { params: { provider: "mistral" }, body: { key: "…" } },
                description: "Connect a provider or replace its credential",
              },
              {
                id: "manageDeleteProvider",
                args: { params: { provider: "mistral" } },
                description: "Delete a stored credential",
              },
              {
                id: "manageTestProvider",
                args: { params: { provider: "mistral" }, body: {} },
                description: "Test a credential",
              },
            ]}
          />
        }
      />
      <Toolbar>
        <Field label="Search" hideLabel className="w-64 max-sm:w-full">
          <Input
            type="search"
            placeholder="Search providers"
            value={search.get("q")}
            onChange={(event) => search.set({ q: event.target.value })}
          />
        </Field>
        <Field label="Status" hideLabel className="w-44 max-sm:w-full">
          <Select
            value={state}
            onChange={(event) => search.set({ state: event.target.value })}
            options={[
              { value: "", label: "All providers" },
              { value: "connected", label: "Connected" },
              { value: "open", label: "Workspace keys only" },
            ]}
          />
        </Field>
      </Toolbar>
      <Table
        label="Providers"
        id="credentials"
        columns={columnsFor(open)}
        rows={rows}
        keyOf={(row) => row.slug}
        query={providers}
        empty={
          <EmptyState icon="vault" title="No providers match" hint="Remove a filter.">
            <Button onClick={() => search.set({ q: null, state: null })}>Clear filters</Button>
          </EmptyState>
        }
      />
      <CredentialDrawer key={chosen?.slug} row={chosen} close={() => open(null)} />
    </>
  );
}
