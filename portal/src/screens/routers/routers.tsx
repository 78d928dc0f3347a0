import { useState } from "react";
import { usePages } from "../../api/hooks.ts";
import { usePermissions } from "../../api/permissions.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge, LevelBadge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { PageHeader } from "../../ui/layout.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";
import { useNavigateTo, useSearchParam, useWorkspace } from "../../url-state.ts";
import { AUTO, OPEN_SPEC, type Router } from "./router-spec.ts";
import { WeightBar } from "./weight-bar.tsx";

/** `auto` always exists; without a saved version it is the built-in router. */
type RouterRow = Omit<Router, "version" | "created_at"> & {
  readonly version: number | null;
  readonly created_at: string | null;
};

const BUILT_IN: RouterRow = { ...OPEN_SPEC, slug: AUTO, name: AUTO, version: null, created_at: null };

export function Screen() {
  const { workspace, at } = useWorkspace();
  const { isAdmin: mayChange } = usePermissions(workspace);
  const [isNew, setIsNew] = useSearchParam("new");
  const args = { params: { workspace }, query: { limit: 200 } };
  const routers = usePages("manageListRouters", args);
  const own = routers.rows.filter(({ slug }) => slug !== AUTO);
  const auto = routers.rows.find(({ slug }) => slug === AUTO) ?? BUILT_IN;
  return (
    <>
      <PageHeader
        title="Routers"
        about="Use a router name as the model. For each request, the router selects an endpoint by quality, cost and latency."
        actions={
          <>
            <ApiButton calls={[{ id: "manageListRouters", args: args }]} />
            {mayChange && (
              <Button variant="primary" icon="plus" onClick={() => setIsNew("1")}>
                Create router
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
        empty={<EmptyState icon="route" title="No routers yet" hint="Create a router to define weights and rules." />}
      />
      <CreateRouterDialog
        isOpen={isNew === "1"}
        close={() => setIsNew("")}
        existing={[AUTO, ...own.map(({ slug }) => slug)]}
      />
    </>
  );
}

const COLUMNS: readonly Column<RouterRow>[] = [
  {
    id: "name",
    header: "Name",
    sortValue: ({ name }) => name,
    className: "md:min-w-48",
    cell: ({ name, version }) => (
      <span className="inline-flex min-w-0 items-center gap-2">
        <span className="font-mono text-[0.8125rem] break-all">{name}</span>
        {version === null && <Badge title="Equal weights for all models that the policy allows">Built-in</Badge>}
      </span>
    ),
  },
  { id: "weights", header: "Weights", cell: ({ weights }) => <WeightBar weights={weights} /> },
  {
    id: "floor",
    header: "Floor",
    sortValue: ({ floor }) => floor,
    cell: ({ floor }) =>
      floor === null ? (
        <span className="whitespace-nowrap text-soft">Workspace policy</span>
      ) : (
        <LevelBadge level={floor} />
      ),
  },
  {
    id: "models",
    header: "Models",
    sortValue: ({ models }) => models.length,
    cell: ({ models, fallback }) => (
      <span className="text-soft">
        {models.length === 0 ? "All" : models.length}
        {fallback.length > 0 && `, ${fallback.length} fallback`}
      </span>
    ),
  },
  {
    id: "version",
    header: "Version",
    sortValue: ({ version }) => version,
    align: "end",
    cell: ({ version }) => version ?? "–",
  },
  {
    id: "changed",
    header: "Changed",
    sortValue: ({ created_at }) => created_at,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
  {
    id: "actions",
    header: <span className="sr-only">Copy</span>,
    align: "end",
    cell: ({ name }) => (
      <span className="relative z-1">
        <CopyButton text={name} label={`Copy model name ${name}`} />
      </span>
    ),
  },
];

const SLUG = /^[a-z0-9-]{1,64}$/;

function CreateRouterDialog({
  isOpen,
  close,
  existing,
}: {
  readonly isOpen: boolean;
  readonly close: () => void;
  readonly existing: readonly string[];
}) {
  const { workspace, at } = useWorkspace();
  const navigateTo = useNavigateTo();
  const [slug, setSlug] = useState("");
  const nameError = validateSlug(slug, existing);
  const start = () => {
    if (slug !== "" && nameError === undefined) navigateTo(at(`routers/${slug}?new=1`));
  };
  return (
    <FormDialog
      open={isOpen}
      onClose={close}
      onSubmit={start}
      title="Create router"
      action="Continue"
      disabled={slug === "" || nameError !== undefined}
    >
      <Field
        label="Name"
        hint={`Use @${workspace}/${slug === "" ? "name" : slug} as the model.`}
        error={slug === "" ? undefined : nameError}
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

function validateSlug(slug: string, existing: readonly string[]): string | undefined {
  if (!SLUG.test(slug)) return "Use 1 to 64 lowercase letters, digits and hyphens.";
  return existing.includes(slug) ? "A router with this name already exists." : undefined;
}
