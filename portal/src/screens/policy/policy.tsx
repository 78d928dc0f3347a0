import { useState } from "react";
import { useWorkspace } from "../../address.ts";
import { useManage } from "../../api/hooks.ts";
import { usePermissions } from "../../api/powers.ts";
import { CallButton } from "../../ui/call-button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Card, PageHeader } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { useUnsaved } from "../../ui/use-unsaved.ts";
import { type Change, changeOf, differencesOf, type Policy, patchOf } from "./draft.ts";
import { Editor } from "./editor.tsx";
import { History } from "./history.tsx";

export function Screen() {
  const { workspace } = useWorkspace();
  const policy = useManage("manageShowPolicy", { params: { workspace } });
  // What nobody touched here is what is in force, whatever becomes of it meanwhile.
  const [change, setChange] = useState<Change>({});
  useUnsaved(policy.data !== undefined && differencesOf(policy.data, { ...policy.data, ...change }).length > 0);
  const params = { workspace };
  const calls = [
    { id: "manageShowPolicy", args: { params }, says: "The policy in force" },
    { id: "managePreviewPolicy", args: { params, body: patchOf(change) }, says: "What this draft would do" },
    { id: "manageChangePolicy", args: { params, body: patchOf(change) }, says: "Save this draft" },
    { id: "manageListPolicyVersions", args: { params }, says: "What it was before" },
  ] as const;
  return (
    <>
      <PageHeader
        title="Policy"
        about="What every endpoint has to fulfil before it may see traffic of this workspace. Keys, routers and requests can only be stricter."
        actions={<CallButton calls={calls} />}
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
        <Parts inForce={policy.data} change={change} setChange={setChange} />
      )}
    </>
  );
}

function Parts({
  inForce,
  change,
  setChange,
}: {
  readonly inForce: Policy;
  readonly change: Change;
  readonly setChange: (change: Change) => void;
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
          content: () => <Editor inForce={inForce} change={change} setChange={setChange} mayChange={mayChange} />,
        },
        {
          id: "history",
          label: "History",
          content: () => <History mayChange={mayChange} use={(old) => setChange(changeOf(inForce, old))} />,
        },
      ]}
    />
  );
}
