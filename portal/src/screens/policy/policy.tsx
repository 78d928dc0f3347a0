import { useState } from "react";
import { useWorkspace } from "../../address.ts";
import { useManage } from "../../api/hooks.ts";
import { useRole } from "../../api/me.ts";
import { CallButton } from "../../ui/call-button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Card, PageHeader } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { useUnsaved } from "../../ui/use-unsaved.ts";
import { differencesOf, type Policy, patchOf } from "./draft.ts";
import { Editor } from "./editor.tsx";
import { History } from "./history.tsx";

export function Screen() {
  const { workspace } = useWorkspace();
  const policy = useManage("manageShowPolicy", { params: { workspace } });
  // Until somebody changes something the draft is what is in force, whatever becomes of it meanwhile.
  const [draft, setDraft] = useState<Policy | undefined>();
  useUnsaved(draft !== undefined && policy.data !== undefined && differencesOf(policy.data, draft).length > 0);
  const params = { workspace };
  const shown = draft ?? policy.data;
  const calls = [
    { id: "manageShowPolicy", args: { params }, says: "The policy in force" },
    ...(shown === undefined
      ? []
      : ([
          { id: "managePreviewPolicy", args: { params, body: patchOf(shown) }, says: "What this draft would do" },
          { id: "manageChangePolicy", args: { params, body: patchOf(shown) }, says: "Save this draft" },
        ] as const)),
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
      ) : policy.data === undefined || shown === undefined ? (
        <Card>
          <SkeletonLines count={8} />
        </Card>
      ) : (
        <Parts inForce={policy.data} draft={shown} setDraft={setDraft} />
      )}
    </>
  );
}

function Parts({
  inForce,
  draft,
  setDraft,
}: {
  readonly inForce: Policy;
  readonly draft: Policy;
  readonly setDraft: (draft: Policy | undefined) => void;
}) {
  const { workspace } = useWorkspace();
  // An operator who is not a member may change everything.
  const mayChange = useRole(workspace) !== "member";
  return (
    <Tabs
      label="Policy"
      tabs={[
        {
          id: "rules",
          label: "Rules",
          content: () => <Editor inForce={inForce} draft={draft} setDraft={setDraft} mayChange={mayChange} />,
        },
        {
          id: "history",
          label: "History",
          content: () => <History mayChange={mayChange} use={setDraft} />,
        },
      ]}
    />
  );
}
