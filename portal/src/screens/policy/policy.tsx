import { useState } from "react";
import { useManage } from "../../api/hooks.ts";
import { usePermissions } from "../../api/permissions.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Card, PageHeader } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { useUnsavedChanges } from "../../ui/use-unsaved-changes.ts";
import { useWorkspace } from "../../url-state.ts";
import { CachePolicy } from "./cache-settings.tsx";
import { DataClasses } from "./data-classes.tsx";
import { changeOf, differencesOf, type Policy, type PolicyChange, patchOf } from "./policy-draft.ts";
import { PolicyEditor } from "./policy-editor.tsx";
import { PolicyHistory } from "./policy-history.tsx";

export function Screen() {
  const { workspace } = useWorkspace();
  const policy = useManage("manageShowPolicy", { params: { workspace } });
  // Only changed rules are kept here, so that unchanged ones follow the current policy.
  const [change, setChange] = useState<PolicyChange>({});
  useUnsavedChanges(policy.data !== undefined && differencesOf(policy.data, { ...policy.data, ...change }).length > 0);
  const params = { workspace };
  const calls = [
    { id: "manageShowPolicy", args: { params }, description: "Show the policy" },
    { id: "managePreviewPolicy", args: { params, body: patchOf(change) }, description: "Preview this draft" },
    { id: "manageChangePolicy", args: { params, body: patchOf(change) }, description: "Save this draft" },
    {
      id: "manageTryDataClasses",
      args: { params, body: { text: "Write to jane.doe@mail.example.eu" } },
      description: "Try rules of data classes",
    },
    { id: "manageShowCache", args: { params }, description: "Show the response cache" },
    { id: "managePurgeCache", args: { params }, description: "Delete cached replies" },
    { id: "manageListPolicyVersions", args: { params }, description: "List versions" },
  ] as const;
  return (
    <>
      <PageHeader
        title="Policy"
        about="Requirements for every endpoint that serves this workspace. Keys, routers and requests can only be stricter."
        actions={<ApiButton calls={calls} />}
      />
      {policy.error !== null && policy.data === undefined ? (
        <Card>
          <ErrorState error={policy.error} onRetry={() => void policy.refetch()} />
        </Card>
      ) : policy.data === undefined ? (
        <Card>
          <SkeletonLines count={8} />
        </Card>
      ) : (
        <PolicyTabs current={policy.data} change={change} setChange={setChange} />
      )}
    </>
  );
}

function PolicyTabs({
  current,
  change,
  setChange,
}: {
  readonly current: Policy;
  readonly change: PolicyChange;
  readonly setChange: (change: PolicyChange) => void;
}) {
  const { workspace } = useWorkspace();
  const { isAdmin: mayChange } = usePermissions(workspace);
  return (
    <Tabs
      label="Policy"
      tabs={[
        {
          id: "rules",
          label: "Rules",
          content: () => <PolicyEditor current={current} change={change} setChange={setChange} mayChange={mayChange} />,
        },
        {
          id: "data",
          label: "Data classes",
          content: () => <DataClasses current={current.data_classes ?? {}} mayChange={mayChange} />,
        },
        {
          id: "cache",
          label: "Cache",
          content: () => <CachePolicy current={current.cache ?? {}} mayChange={mayChange} />,
        },
        {
          id: "history",
          label: "History",
          content: () => <PolicyHistory mayChange={mayChange} use={(old) => setChange(changeOf(current, old))} />,
        },
      ]}
    />
  );
}
