import { useEffect, useMemo, useState } from "react";
import { usePages } from "../../api/hooks.ts";
import { useKeyLimits } from "../../api/key-limits.ts";
import { type Permissions, usePermissions } from "../../api/permissions.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { PageHeader, Toolbar } from "../../ui/layout.tsx";
import { Table, useSortParam } from "../../ui/table.tsx";
import { SegmentedControl } from "../../ui/tabs.tsx";
import { stringifySearch, useSearchParams, useWorkspace } from "../../url-state.ts";
import { CreateKey } from "./create-key.tsx";
import { isView, type Key, matchesSearch, VIEWS } from "./key.ts";
import { type KeyAction, KeyDialog, PendingKeys } from "./key-actions.tsx";
import { keyColumns } from "./key-columns.tsx";
import { KeyDetail } from "./key-detail.tsx";

/** Loads all keys: search and sorting run in the browser. */
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
  const [action, setAction] = useState<KeyAction>();
  const view = search.get("view", "current");
  const typed = search.get("q");
  const rows = useMemo(() => {
    const { has } = VIEWS[isView(view) ? view : "current"];
    return keys.rows.filter((key) => has(key) && matchesSearch(key, typed));
  }, [keys.rows, view, typed]);
  const chosen = keys.rows.find(({ id }) => id === search.get("key"));
  return (
    <>
      <KeysHeader workspace={workspace} permissions={permissions} onCreate={() => search.set({ new: "1" })} />
      <PendingKeys
        keys={keys.rows.filter(({ state }) => state === "pending")}
        isAdmin={permissions.isAdmin}
        act={setAction}
      />
      <KeyFilters search={search} view={view} typed={typed} />
      <Table<Key>
        label="Keys"
        columns={keyColumns({ limits, act: setAction })}
        rows={rows}
        keyOf={({ id }) => id}
        linkOf={({ id }) => `${at("keys")}${stringifySearch({ ...search.all, key: id })}`}
        query={keys}
        {...useSortParam("-created")}
        empty={<NoKeys hasAny={keys.rows.length > 0} onCreate={() => search.set({ new: "1" })} search={search} />}
      />
      <p className="mt-4 max-w-2xl text-xs text-soft">
        When a member leaves the workspace, their personal keys are revoked immediately. Workspace keys keep working.
      </p>
      <CreateKey
        workspace={workspace}
        permissions={permissions}
        open={search.get("new") === "1"}
        onClose={() => search.set({ new: null })}
      />
      {chosen !== undefined && action === undefined && (
        <KeyDetail
          subject={chosen}
          limits={limits.get(chosen.id)}
          at={at}
          isAdmin={permissions.isAdmin}
          act={setAction}
          onClose={() => search.set({ key: null })}
        />
      )}
      {action !== undefined && (
        <KeyDialog
          action={action}
          limits={limits.get(action.subject.id)}
          isAdmin={permissions.isAdmin}
          onClose={() => setAction(undefined)}
        />
      )}
    </>
  );
}

type Search = ReturnType<typeof useSearchParams>;

function KeysHeader({
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
          ? "API keys for calling models. A key is shown once, when you create it."
          : "Your personal API keys. A key is shown once, when you create it."
      }
      actions={
        <>
          <ApiButton
            calls={[
              { id: "manageListKeys", args: { params: { workspace } }, description: "List keys" },
              {
                id: "manageCreateKey",
                args: { params: { workspace }, body: { name: "backend", environment: "live" } },
                description: "Create key",
              },
            ]}
          />
          <Button variant="primary" icon="plus" onClick={onCreate}>
            Create key
          </Button>
        </>
      }
    />
  );
}

function KeyFilters({
  search,
  view,
  typed,
}: {
  readonly search: Search;
  readonly view: string;
  readonly typed: string;
}) {
  return (
    <Toolbar>
      <Field label="Search keys" hideLabel className="w-full sm:w-72">
        <Input
          type="search"
          placeholder="Name, prefix, owner, model"
          value={typed}
          onChange={(event) => search.set({ q: event.target.value })}
        />
      </Field>
      <SegmentedControl
        label="Status"
        value={isView(view) ? view : "current"}
        onChange={(next) => search.set({ view: next === "current" ? null : next })}
        options={Object.entries(VIEWS).map(([value, { label }]) => ({ value, label }))}
      />
    </Toolbar>
  );
}

function NoKeys({
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
      <EmptyState icon="search" title="No keys match" hint="Try another search or show all keys.">
        <Button onClick={() => search.set({ q: null, view: "all" })}>Show all keys</Button>
      </EmptyState>
    );
  return (
    <EmptyState icon="key" title="No keys yet" hint="API keys authenticate requests to the gateway.">
      <Button variant="primary" icon="plus" onClick={onCreate}>
        Create key
      </Button>
    </EmptyState>
  );
}
