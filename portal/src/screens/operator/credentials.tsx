import { Fragment, useState } from "react";
import { useSearchParams } from "../../address.ts";
import type { ApiResponse } from "../../api/client.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { Badge, LevelBadge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { Callout, PageHeader, Toolbar } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Country, Num, Unknown } from "../../ui/values.tsx";
import { CredentialDrawer } from "./credential-drawer.tsx";
import type { Provider } from "./rows.ts";

type Tested = ApiResponse<"manageTestProvider">;

/** Asks the provider whether it accepts the operator's credential. */
function TestButton({ provider }: { readonly provider: Provider }) {
  const [tested, setTested] = useState<Tested | null>(null);
  const test = useManageMutation("manageTestProvider", { stale: [], onDone: setTested });
  const close = () => {
    setTested(null);
    test.reset();
  };
  return (
    <>
      <Button
        size="small"
        busy={test.isPending}
        onClick={() => test.mutate({ params: { provider: provider.slug }, body: {} })}
        aria-label={`Test now: ${provider.name}`}
      >
        Test now
      </Button>
      <Dialog
        open={tested !== null || test.error !== null}
        onClose={close}
        title={`Test of ${provider.name}`}
        footer={<Button onClick={close}>Done</Button>}
      >
        {tested !== null && (
          <Callout
            tone={tested.result === "accepted" ? "good" : tested.result === "refused" ? "bad" : "warn"}
            title={{ accepted: "Accepted", refused: "Refused", unclear: "Not clear" }[tested.result]}
          >
            {tested.detail}
          </Callout>
        )}
        <ErrorNote error={test.error} />
      </Dialog>
    </>
  );
}

/** A name of words and underscores breaks behind one of them, never inside a word. */
function breakable(name: string) {
  return name.split(/(?<=_)/).map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place in the name
    <Fragment key={at}>
      {part}
      <wbr />
    </Fragment>
  ));
}

/** What the operator has there, and where it comes from. */
function StateOf({ row }: { readonly row: Provider }) {
  if (row.sandbox) return <Badge tone="info">simulated</Badge>;
  if (!row.connected)
    return row.stored ? (
      <Badge tone="bad">stored, not usable</Badge>
    ) : (
      <Badge title="Workspaces with a key of their own can still use it">own keys only</Badge>
    );
  const source = row.credential === "stored" ? "stored" : row.stored ? "by a setting, one is stored" : "by a setting";
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2">
      <Badge tone="good" dot>
        connected
      </Badge>
      <span className="text-xs text-soft">{source}</span>
    </span>
  );
}

const columnsFor = (open: (slug: string) => void): readonly Column<Provider>[] => [
  {
    id: "name",
    header: "Provider",
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
    header: "State",
    cell: (row) => <StateOf row={row} />,
  },
  {
    id: "levels",
    header: "Levels",
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
  { id: "models", header: "Models", align: "end", cell: (row) => <Num value={row.models} /> },
  {
    id: "endpoints",
    header: "Endpoints",
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
        <span className="text-faint">none needed</span>
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

/** Providers and the operator's credentials there. */
export function Screen() {
  const search = useSearchParams();
  const asked = useManage("manageListProviders", {});
  const words = search.get("q").toLowerCase();
  const state = search.get("state");
  const rows = (asked.data?.data ?? []).filter(
    (row) =>
      (state === "" || (state === "connected") === row.connected) &&
      (words === "" || `${row.slug} ${row.name} ${row.operator}`.toLowerCase().includes(words)),
  );
  const open = (slug: string | null) => search.set({ provider: slug }, slug === null ? "replace" : "push");
  const chosen = asked.data?.data.find(({ slug, setting }) => setting !== null && slug === search.get("provider"));
  return (
    <>
      <PageHeader
        title="Providers and credentials"
        about="Who can be reached with the operator's own credentials. A credential is never shown."
        actions={
          <CallButton
            calls={[
              { id: "manageListProviders", args: {}, says: "List providers and whether they are connected" },
              {
                id: "managePutProvider",
                args: { params: { provider: "mistral" }, body: { key: "…" } },
                says: "Connect a provider, or replace its credential",
              },
              { id: "manageDeleteProvider", args: { params: { provider: "mistral" } }, says: "Forget what is stored" },
              {
                id: "manageTestProvider",
                args: { params: { provider: "mistral" }, body: {} },
                says: "Ask a provider whether it accepts the credential",
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
        <Field label="State" hideLabel className="w-44 max-sm:w-full">
          <Select
            value={state}
            onChange={(event) => search.set({ state: event.target.value })}
            options={[
              { value: "", label: "All providers" },
              { value: "connected", label: "Connected" },
              { value: "open", label: "Own keys only" },
            ]}
          />
        </Field>
      </Toolbar>
      <Table
        label="Providers"
        columns={columnsFor(open)}
        rows={rows}
        keyOf={(row) => row.slug}
        query={asked}
        empty={
          <EmptyState icon="vault" title="No provider fits" hint="Take a filter out.">
            <Button onClick={() => search.set({ q: null, state: null })}>Show all</Button>
          </EmptyState>
        }
      />
      <CredentialDrawer key={chosen?.slug} row={chosen} close={() => open(null)} />
    </>
  );
}
