import { useState } from "react";
import { useManage } from "../../api/hooks.ts";
import { usePermissions } from "../../api/permissions.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge } from "../../ui/badge.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Callout, Card, PageHeader } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { useUnsavedChanges } from "../../ui/use-unsaved-changes.ts";
import { useParam, useSearchParam, useWorkspace } from "../../url-state.ts";
import { DryRun } from "./dry-run.tsx";
import { RemoveRouter } from "./remove-router.tsx";
import { ReplayTab } from "./replay-tab.tsx";
import { RouterDesign } from "./router-design.tsx";
import {
  AUTO,
  draftOf,
  OPEN_SPEC,
  type Router,
  type RouterDraft,
  type RouterEditing,
  routerBody,
} from "./router-spec.ts";
import { RouterVersions } from "./router-versions.tsx";

export function Screen() {
  const slug = useParam("router");
  const { workspace, at } = useWorkspace();
  const [isNew] = useSearchParam("new");
  const { isAdmin: mayChange } = usePermissions(workspace);
  const [changed, setDraft] = useState<RouterDraft | undefined>();
  const routers = useManage("manageListRouters", { params: { workspace }, query: { limit: 1000 } });
  const saved = routers.data?.data.find((one) => one.slug === slug);
  const spec = saved ?? OPEN_SPEC;
  const draft = changed ?? draftOf(spec);
  const isChanged = JSON.stringify(draft) !== JSON.stringify(draftOf(spec));
  useUnsavedChanges(isChanged);
  const editing: RouterEditing = { slug, saved, spec, draft, isChanged, mayChange, setDraft };
  const exists = saved !== undefined || slug === AUTO || isNew === "1";
  const name = slug === AUTO ? AUTO : `@${workspace}/${slug}`;
  const params = { workspace, router: slug };
  return (
    <>
      <PageHeader
        title={<span className="font-mono">{name}</span>}
        mark={<RouterBadges saved={saved} slug={slug} name={name} />}
        about={slug === AUTO ? "Used for requests with the model auto." : undefined}
        actions={
          <>
            <ApiButton
              calls={[
                { id: "manageShowRouter", args: { params } },
                {
                  id: "managePutRouter",
                  args: { params, body: routerBody(draft, spec) },
                  description: "Save this draft",
                },
              ]}
            />
            {mayChange && saved !== undefined && <RemoveRouter slug={slug} name={name} />}
            <LinkButton to={at("routers")} icon="left">
              All routers
            </LinkButton>
          </>
        }
      />
      {routers.error !== null && routers.data === undefined ? (
        <Card>
          <ErrorState error={routers.error} onRetry={() => void routers.refetch()} />
        </Card>
      ) : routers.data === undefined ? (
        <Card>
          <SkeletonLines count={8} />
        </Card>
      ) : (
        <RouterTabs editing={editing} exists={exists} />
      )}
    </>
  );
}

function RouterBadges({
  saved,
  slug,
  name,
}: {
  readonly saved: Router | undefined;
  readonly slug: string;
  readonly name: string;
}) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <CopyButton text={name} label={`Copy model name ${name}`} />
      {saved === undefined ? (
        <Badge tone={slug === AUTO ? "neutral" : "warn"}>{slug === AUTO ? "Built-in" : "Not saved"}</Badge>
      ) : (
        <Badge>Version {saved.version}</Badge>
      )}
    </span>
  );
}

function RouterTabs({ editing, exists }: { readonly editing: RouterEditing; readonly exists: boolean }) {
  const versions = { id: "versions", label: "Versions", content: () => <RouterVersions editing={editing} /> };
  if (!exists)
    return (
      <div className="grid gap-5">
        <Callout tone="warn" title="Router not found">
          This router was removed or never saved. To restore a removed router, choose a version below.
        </Callout>
        <RouterVersions editing={editing} />
      </div>
    );
  return (
    <Tabs
      label="Router"
      tabs={[
        { id: "design", label: "Design", content: () => <RouterDesign editing={editing} /> },
        { id: "dry-run", label: "Dry run", content: () => <DryRun editing={editing} /> },
        // A replay uses the requests of the whole workspace.
        ...(editing.mayChange
          ? [{ id: "replay", label: "Replay", content: () => <ReplayTab editing={editing} /> }]
          : []),
        ...(editing.saved === undefined ? [] : [versions]),
      ]}
    />
  );
}
