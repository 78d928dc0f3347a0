import { useState } from "react";
import { useNavigateTo, useWorkspace } from "../../address.ts";
import { useManageMutation, usePages } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import type { Edited } from "./spec.ts";
import { type Spec, wordsOf } from "./spec.ts";

type Version = { readonly version: number; readonly created_at: string; readonly spec: Spec | null };

/** Every version, newest first; any that is a router can be made the newest. */
export function Versions({ edited }: { readonly edited: Edited }) {
  const { workspace, at } = useWorkspace();
  const go = useNavigateTo();
  const [chosen, setChosen] = useState<Version | undefined>();
  const versions = usePages("manageListRouterVersions", {
    params: { workspace, router: edited.slug },
    query: { limit: 50 },
  });
  const restore = useManageMutation("manageRestoreRouter", {
    onDone: ({ version }) => {
      setChosen(undefined);
      edited.setDraft(undefined);
      toast(`Restored as version ${version}.`);
      go(at(`routers/${edited.slug}`));
    },
  });
  const newest = versions.rows[0]?.version;
  return (
    <>
      <Table
        label="Versions of the router"
        columns={columnsFor(newest, edited.mayChange, setChosen)}
        rows={versions.rows}
        keyOf={({ version }) => String(version)}
        query={{ ...versions, error: versions.error?.status === 404 ? null : versions.error }}
        empty={
          <EmptyState
            icon="clock"
            title="There never was a router with this name"
            hint="Make one, or look at the others."
          >
            <LinkButton to={at("routers")}>All routers</LinkButton>
          </EmptyState>
        }
      />
      <Confirm
        open={chosen !== undefined}
        onClose={() => setChosen(undefined)}
        onConfirm={() =>
          chosen !== undefined &&
          restore.mutate({ params: { workspace, router: edited.slug }, body: { version: chosen.version } })
        }
        title={`Restore version ${chosen?.version ?? ""}?`}
        action="Restore it"
        busy={restore.isPending}
        error={restore.error}
      >
        <p>It becomes the newest version, and the next request already follows it. Nothing is lost.</p>
        {chosen?.spec != null && <p className="text-ink">{wordsOf(chosen.spec)}</p>}
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
      cell: ({ version }) => (
        <span className="inline-flex items-center gap-2">
          {version}
          {version === newest && <Badge tone="good">newest</Badge>}
        </span>
      ),
    },
    { id: "at", header: "When", cell: ({ created_at }) => <Time at={created_at} as="short" /> },
    {
      id: "what",
      header: "What it was",
      cell: ({ spec }) => (spec === null ? <span className="text-bad">removed</span> : wordsOf(spec)),
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
