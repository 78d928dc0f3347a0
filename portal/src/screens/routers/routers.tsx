import { useState } from "react";
import { useNavigateTo, useSearchParam, useWorkspace } from "../../address.ts";
import { usePages } from "../../api/hooks.ts";
import { usePermissions } from "../../api/powers.ts";
import { Badge, LevelBadge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { PageHeader } from "../../ui/layout.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";
import { AUTO, OPEN_SPEC, type Router } from "./spec.ts";
import { WeightBar } from "./weight-bar.tsx";

/** `auto` is always there; it is the workspace's own only once somebody saved one. */
type Listed = Omit<Router, "version" | "created_at"> & {
  readonly version: number | null;
  readonly created_at: string | null;
};

const BUILT_IN: Listed = { ...OPEN_SPEC, slug: AUTO, name: AUTO, version: null, created_at: null };

export function Screen() {
  const { workspace, at } = useWorkspace();
  const { isAdmin: mayChange } = usePermissions(workspace);
  const [isNew, setIsNew] = useSearchParam("new");
  const asked = { params: { workspace }, query: { limit: 200 } };
  const routers = usePages("manageListRouters", asked);
  const own = routers.rows.filter(({ slug }) => slug !== AUTO);
  const auto = routers.rows.find(({ slug }) => slug === AUTO) ?? BUILT_IN;
  return (
    <>
      <PageHeader
        title="Routers"
        about="A router is a name that callers write as the model: it weighs quality, cost and latency and chooses for each request."
        actions={
          <>
            <CallButton calls={[{ id: "manageListRouters", args: asked }]} />
            {mayChange && (
              <Button look="primary" icon="plus" onClick={() => setIsNew("1")}>
                New router
              </Button>
            )}
          </>
        }
      />
      <Table
        label="Routers"
        columns={COLUMNS}
        rows={routers.isPending ? [] : [auto, ...own]}
        keyOf={({ slug }) => slug}
        linkOf={({ slug }) => at(`routers/${slug}`)}
        query={routers}
        empty={<EmptyState icon="route" title="No router yet" hint="Make one with New router." />}
      />
      <NewRouter isOpen={isNew === "1"} close={() => setIsNew("")} known={[AUTO, ...own.map(({ slug }) => slug)]} />
    </>
  );
}

const COLUMNS: readonly Column<Listed>[] = [
  {
    id: "name",
    header: "Name",
    className: "md:min-w-48",
    cell: ({ name, version }) => (
      <span className="inline-flex min-w-0 items-center gap-2">
        <span className="font-mono text-[0.8125rem] break-all">{name}</span>
        {version === null && <Badge title="Even weights, every model that the policy allows">built in</Badge>}
      </span>
    ),
  },
  { id: "weights", header: "Weights", cell: ({ weights }) => <WeightBar weights={weights} /> },
  {
    id: "floor",
    header: "Floor",
    cell: ({ floor }) =>
      floor === null ? <span className="whitespace-nowrap text-soft">the policy's</span> : <LevelBadge level={floor} />,
  },
  {
    id: "models",
    header: "Models",
    cell: ({ models, fallback }) => (
      <span className="text-soft">
        {models.length === 0 ? "all" : models.length}
        {fallback.length > 0 && `, ${fallback.length} to fall back on`}
      </span>
    ),
  },
  { id: "version", header: "Version", align: "end", cell: ({ version }) => version ?? "–" },
  { id: "changed", header: "Changed", cell: ({ created_at }) => <Time at={created_at} /> },
  {
    id: "copy",
    header: <span className="sr-only">Copy</span>,
    align: "end",
    cell: ({ name }) => (
      <span className="relative z-1">
        <CopyButton text={name} label={`Copy the model name ${name}`} />
      </span>
    ),
  },
];

const SLUG = /^[a-z0-9-]{1,64}$/;

function NewRouter({
  isOpen,
  close,
  known,
}: {
  readonly isOpen: boolean;
  readonly close: () => void;
  readonly known: readonly string[];
}) {
  const { workspace, at } = useWorkspace();
  const go = useNavigateTo();
  const [slug, setSlug] = useState("");
  const problem = problemOf(slug, known);
  const start = () => {
    if (slug !== "" && problem === undefined) go(at(`routers/${slug}?new=1`));
  };
  return (
    <FormDialog
      open={isOpen}
      onClose={close}
      onSubmit={start}
      title="New router"
      action="Design it"
      disabled={slug === "" || problem !== undefined}
    >
      <Field
        label="Name"
        hint={`Callers write @${workspace}/${slug === "" ? "name" : slug} as the model.`}
        error={slug === "" ? undefined : problem}
      >
        <Input
          value={slug}
          onChange={(event) => setSlug(event.target.value)}
          placeholder="cheap-eu"
          autoComplete="off"
          spellCheck={false}
          mono
        />
      </Field>
    </FormDialog>
  );
}

function problemOf(slug: string, known: readonly string[]): string | undefined {
  if (!SLUG.test(slug)) return "Write 1 to 64 lower-case letters, digits and hyphens.";
  return known.includes(slug) ? "A router with this name exists already: open it, or choose another." : undefined;
}
