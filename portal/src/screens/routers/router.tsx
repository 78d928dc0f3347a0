import { useState } from "react";
import { useParam, useSearchParam, useWorkspace } from "../../address.ts";
import { useManage } from "../../api/hooks.ts";
import { usePermissions } from "../../api/powers.ts";
import { Badge } from "../../ui/badge.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Callout, Card, PageHeader } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { useUnsaved } from "../../ui/use-unsaved.ts";
import { Design } from "./design.tsx";
import { DryRun } from "./dry-run.tsx";
import { RemoveRouter } from "./remove-router.tsx";
import { ReplayTab } from "./replay.tsx";
import { AUTO, type Draft, draftOf, type Edited, OPEN_SPEC, putOf, type Router } from "./spec.ts";
import { Versions } from "./versions.tsx";

export function Screen() {
  const slug = useParam("router");
  const { workspace, at } = useWorkspace();
  const [isNew] = useSearchParam("new");
  const { isAdmin: mayChange } = usePermissions(workspace);
  const [changed, setDraft] = useState<Draft | undefined>();
  const routers = useManage("manageListRouters", { params: { workspace }, query: { limit: 1000 } });
  const saved = routers.data?.data.find((one) => one.slug === slug);
  const spec = saved ?? OPEN_SPEC;
  const draft = changed ?? draftOf(spec);
  const isChanged = JSON.stringify(draft) !== JSON.stringify(draftOf(spec));
  useUnsaved(isChanged);
  const edited: Edited = { slug, saved, spec, draft, isChanged, mayChange, setDraft };
  const isThere = saved !== undefined || slug === AUTO || isNew === "1";
  const name = slug === AUTO ? AUTO : `@${workspace}/${slug}`;
  const params = { workspace, router: slug };
  return (
    <>
      <PageHeader
        title={<span className="font-mono">{name}</span>}
        mark={<Mark saved={saved} slug={slug} name={name} />}
        about={slug === AUTO ? "What callers get who write auto as the model." : undefined}
        actions={
          <>
            <CallButton
              calls={[
                { id: "manageShowRouter", args: { params } },
                { id: "managePutRouter", args: { params, body: putOf(draft, spec) }, says: "Save this draft" },
              ]}
            />
            {mayChange && saved !== undefined && <RemoveRouter slug={slug} name={name} />}
            <LinkButton to={at("routers")} icon="left">
              Routers
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
        <Parts edited={edited} isThere={isThere} />
      )}
    </>
  );
}

function Mark({
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
      <CopyButton text={name} label={`Copy the model name ${name}`} />
      {saved === undefined ? (
        <Badge tone={slug === AUTO ? "neutral" : "warn"}>{slug === AUTO ? "built in" : "not saved"}</Badge>
      ) : (
        <Badge>version {saved.version}</Badge>
      )}
    </span>
  );
}

function Parts({ edited, isThere }: { readonly edited: Edited; readonly isThere: boolean }) {
  const versions = { id: "versions", label: "Versions", content: () => <Versions edited={edited} /> };
  if (!isThere)
    return (
      <div className="grid gap-5">
        <Callout tone="warn" title="This router is not there">
          It was removed, or never saved. If it was removed, one of its versions below brings it back.
        </Callout>
        <Versions edited={edited} />
      </div>
    );
  return (
    <Tabs
      label="Router"
      tabs={[
        { id: "design", label: "Design", content: () => <Design edited={edited} /> },
        { id: "dry-run", label: "Dry run", content: () => <DryRun edited={edited} /> },
        // Past traffic is the whole workspace's.
        ...(edited.mayChange ? [{ id: "replay", label: "Replay", content: () => <ReplayTab edited={edited} /> }] : []),
        ...(edited.saved === undefined ? [] : [versions]),
      ]}
    />
  );
}
