import { useState } from "react";
import { useManageMutation, usePages } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { useNavigateTo, useWorkspace } from "../../url-state.ts";
import type { RouterEditing } from "./router-spec.ts";
import { describeSpec, type Spec } from "./router-spec.ts";

type Version = { readonly version: number; readonly created_at: string; readonly spec: Spec | null };

/** All versions, newest first; older ones can be restored. */
export function RouterVersions({ editing }: { readonly editing: RouterEditing }) {
  const { workspace, at } = useWorkspace();
  const navigateTo = useNavigateTo();
  const [chosen, setChosen] = useState<Version | undefined>();
  const versions = usePages("manageListRouterVersions", {
    params: { workspace, router: editing.slug },
    query: { limit: 50 },
  });
  const restore = useManageMutation("manageRestoreRouter", {
    onDone: ({ version }) => {
      setChosen(undefined);
      editing.setDraft(undefined);
      toast(`Restored as version ${version}`);
      navigateTo(at(`routers/${editing.slug}`));
    },
  });
  const newest = versions.rows[0]?.version;
  return (
    <>
      <Table
        label="Router versions"
        columns={columnsFor(newest, editing.mayChange, setChosen)}
        rows={versions.rows}
        keyOf={({ version }) => String(version)}
        query={{ ...versions, error: versions.error?.status === 404 ? null : versions.error }}
        empty={
          <EmptyState icon="clock" title="No versions" hint="A router with this name never existed.">
            <LinkButton to={at("routers")}>All routers</LinkButton>
          </EmptyState>
        }
      />
      <Confirm
        open={chosen !== undefined}
        onClose={() => setChosen(undefined)}
        onConfirm={() =>
          chosen !== undefined &&
          restore.mutate({ params: { workspace, router: editing.slug }, body: { version: chosen.version } })
        }
        title={`Restore version ${chosen?.version ?? ""}?`}
        action="Restore version"
        busy={restore.isPending}
        error={restore.error}
      >
        <p>A new version with these settings is created. Existing versions are kept.</p>
        {chosen?.spec != null && <p className="text-ink">{describeSpec(chosen.spec)}</p>}
      </Confirm>
    </>
  );
}

function columnsFor(
  newest: number | undefined,
  mayChange: boolean,
  choose: (version: Version) => void,
): readonly Column<Version>[] {
  return [
    {
      id: "version",
      header: "Version",
      sortValue: ({ version }) => version,
      cell: ({ version }) => (
        <span className="inline-flex items-center gap-2">
          {version}
          {version === newest && <Badge tone="good">Current</Badge>}
        </span>
      ),
    },
    {
      id: "at",
      header: "Time",
      sortValue: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time at={created_at} as="short" />,
    },
    {
      id: "what",
      header: "Settings",
      cell: ({ spec }) => (spec === null ? <span className="text-bad">Removed</span> : describeSpec(spec)),
    },
    {
      id: "actions",
      header: <span className="sr-only">Action</span>,
      align: "end",
      cell: (row) =>
        mayChange && row.spec !== null && row.version !== newest ? (
          <Button size="small" onClick={() => choose(row)} aria-label={`Restore version ${row.version}`}>
            Restore
          </Button>
        ) : null,
    },
  ];
}
