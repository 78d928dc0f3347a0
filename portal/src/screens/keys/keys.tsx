import { useEffect, useMemo, useState } from "react";
import { stringifySearch, useSearchParams, useWorkspace } from "../../address.ts";
import { usePages } from "../../api/hooks.ts";
import { useKeyLimits } from "../../api/key-limits.ts";
import { type Permissions, usePermissions } from "../../api/powers.ts";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { PageHeader, Toolbar } from "../../ui/layout.tsx";
import { sortOf, sortRows, sortText, Table } from "../../ui/table.tsx";
import { Segments } from "../../ui/tabs.tsx";
import { CreateKey } from "./create-key.tsx";
import { isMeant, isView, type Key, sortValueOf, VIEWS } from "./key.ts";
import { type Doing, KeyDialog, Waiting } from "./key-actions.tsx";
import { keyColumns } from "./key-columns.tsx";
import { KeyDetail } from "./key-detail.tsx";

const SHOWN_STEP = 100;

/** Every key that one may see: they are searched and sorted here, so all of them are loaded. */
function useKeys(workspace: string) {
  const keys = usePages("manageListKeys", { params: { workspace }, query: { limit: 1000 } });
  const { hasMore, isLoadingMore, loadMore } = keys;
  useEffect(() => {
    if (hasMore && !isLoadingMore) loadMore();
  }, [hasMore, isLoadingMore, loadMore]);
  return keys;
}

export function Screen() {
  const { workspace, at } = useWorkspace();
  const search = useSearchParams();
  const permissions = usePermissions(workspace);
  const keys = useKeys(workspace);
  const limits = useKeyLimits(
    workspace,
    keys.rows.filter(({ state }) => state !== "revoked").map(({ id }) => id),
    permissions.isAdmin,
  );
  const [doing, setDoing] = useState<Doing>();
  const [shown, setShown] = useState(SHOWN_STEP);
  const sort = sortOf(search.get("sort", "-created"));
  const view = search.get("view", "current");
  const typed = search.get("q");
  const rows = useMemo(() => {
    const { has } = VIEWS[isView(view) ? view : "current"];
    return keys.rows.filter((key) => has(key) && isMeant(key, typed));
  }, [keys.rows, view, typed]);
  const sorted = sortRows(rows, sort, (key, by) => sortValueOf(key, by, limits));
  const chosen = keys.rows.find(({ id }) => id === search.get("key"));
  return (
    <>
      <Header workspace={workspace} permissions={permissions} onCreate={() => search.set({ new: "1" })} />
      <Waiting
        keys={keys.rows.filter(({ state }) => state === "pending")}
        isAdmin={permissions.isAdmin}
        act={setDoing}
      />
      <Filters search={search} view={view} typed={typed} />
      <Table<Key>
        label="Keys"
        columns={keyColumns({ limits, act: setDoing })}
        rows={sorted.slice(0, shown)}
        keyOf={({ id }) => id}
        linkOf={({ id }) => `${at("keys")}${stringifySearch({ ...search.all, key: id })}`}
        query={{ ...keys, hasMore: sorted.length > shown, loadMore: () => setShown(shown + SHOWN_STEP) }}
        sort={sort}
        onSort={(next) => search.set({ sort: sortText(next) })}
        empty={<Nothing hasAny={keys.rows.length > 0} onCreate={() => search.set({ new: "1" })} search={search} />}
      />
      <p className="mt-4 max-w-2xl text-xs text-soft">
        When somebody leaves the workspace, their personal keys are revoked at once. Workspace keys belong to nobody in
        particular and go on.
      </p>
      <CreateKey
        workspace={workspace}
        permissions={permissions}
        open={search.get("new") === "1"}
        onClose={() => search.set({ new: null })}
      />
      {chosen !== undefined && doing === undefined && (
        <KeyDetail
          subject={chosen}
          limits={limits.get(chosen.id)}
          at={at}
          isAdmin={permissions.isAdmin}
          act={setDoing}
          onClose={() => search.set({ key: null })}
        />
      )}
      {doing !== undefined && (
        <KeyDialog doing={doing} isAdmin={permissions.isAdmin} onClose={() => setDoing(undefined)} />
      )}
    </>
  );
}

type Search = ReturnType<typeof useSearchParams>;

function Header({
  workspace,
  permissions,
  onCreate,
}: {
  readonly workspace: string;
  readonly permissions: Permissions;
  readonly onCreate: () => void;
}) {
  return (
    <PageHeader
      title="Keys"
      about={
        permissions.isAdmin
          ? "What programs and people call models with. A key itself is shown once, when it is made."
          : "Your personal keys. A key itself is shown once, when it is made."
      }
      actions={
        <>
          <CallButton
            calls={[
              { id: "manageListKeys", args: { params: { workspace } }, says: "List keys" },
              {
                id: "manageCreateKey",
                args: { params: { workspace }, body: { name: "backend", environment: "live" } },
                says: "Create a key",
              },
            ]}
          />
          <Button look="primary" icon="plus" onClick={onCreate}>
            Create a key
          </Button>
        </>
      }
    />
  );
}

function Filters({ search, view, typed }: { readonly search: Search; readonly view: string; readonly typed: string }) {
  return (
    <Toolbar>
      <Field label="Search keys" hideLabel className="w-full sm:w-72">
        <Input
          type="search"
          placeholder="Name, owner, environment, state"
          value={typed}
          onChange={(event) => search.set({ q: event.target.value })}
        />
      </Field>
      <Segments
        label="Which keys"
        value={isView(view) ? view : "current"}
        onChange={(next) => search.set({ view: next === "current" ? null : next })}
        options={Object.entries(VIEWS).map(([value, { label }]) => ({ value, label }))}
      />
    </Toolbar>
  );
}

function Nothing({
  hasAny,
  onCreate,
  search,
}: {
  readonly hasAny: boolean;
  readonly onCreate: () => void;
  readonly search: Search;
}) {
  if (hasAny)
    return (
      <EmptyState icon="search" title="No key is like that" hint="Other words, or keys of another kind, may find one.">
        <Button onClick={() => search.set({ q: null, view: "all" })}>Show all keys</Button>
      </EmptyState>
    );
  return (
    <EmptyState icon="key" title="There is no key yet" hint="A key is what a program sends with every request.">
      <Button look="primary" icon="plus" onClick={onCreate}>
        Create a key
      </Button>
    </EmptyState>
  );
}
