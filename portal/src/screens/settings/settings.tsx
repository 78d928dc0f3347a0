import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { type Permissions, usePermissions } from "../../api/permissions.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ErrorNote, ErrorState } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Card, KeyValue, PageHeader, Stack } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { useNavigateTo, useWorkspace } from "../../url-state.ts";
import { IpAllowlistCard } from "./ip-allowlist.tsx";
import { KeyPolicyCard } from "./key-policy.tsx";
import { StoredResponses } from "./stored-responses.tsx";

export function Screen() {
  const { workspace } = useWorkspace();
  const permissions = usePermissions(workspace);
  const about = useManage("manageShowWorkspace", { params: { workspace } });
  return (
    <>
      <PageHeader
        title="Settings"
        about="Settings of this workspace."
        actions={
          <ApiButton
            calls={[
              { id: "manageShowWorkspace", args: { params: { workspace } }, description: "Show the workspace" },
              {
                id: "manageChangeWorkspace",
                args: { params: { workspace }, body: { name: "Research" } },
                description: "Rename the workspace",
              },
            ]}
          />
        }
      />
      <Stack>
        <Card title="Workspace">
          {about.error !== null && about.data === undefined ? (
            <ErrorState error={about.error} onRetry={() => void about.refetch()} />
          ) : about.data === undefined ? (
            <SkeletonLines count={4} />
          ) : (
            <GeneralSettings key={about.data.name} about={about.data} permissions={permissions} />
          )}
        </Card>
        <KeyPolicyCard workspace={workspace} permissions={permissions} />
        <IpAllowlistCard workspace={workspace} permissions={permissions} />
        {permissions.isAdmin && <StoredResponses workspace={workspace} />}
        {permissions.role !== undefined && <DangerZone workspace={workspace} permissions={permissions} />}
      </Stack>
    </>
  );
}

function GeneralSettings({
  about,
  permissions,
}: {
  readonly about: ApiResponse<"manageShowWorkspace">;
  readonly permissions: Permissions;
}) {
  const [name, setName] = useState(about.name);
  const rename = useManageMutation("manageChangeWorkspace", { onDone: () => toast("Workspace renamed") });
  const isChanged = name.trim() !== about.name && name.trim() !== "";
  return (
    <div className="grid gap-5">
      <form
        className="grid max-w-xl gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (isChanged) rename.mutate({ params: { workspace: about.slug }, body: { name: name.trim() } });
        }}
      >
        <div className="flex items-end gap-2">
          <Field label="Name" className="flex-1">
            <Input
              value={name}
              maxLength={100}
              required
              disabled={!permissions.isOwner}
              onChange={(event) => setName(event.target.value)}
            />
          </Field>
          {permissions.isOwner && (
            <Button type="submit" variant="primary" disabled={!isChanged} busy={rename.isPending}>
              Rename workspace
            </Button>
          )}
        </div>
        {!permissions.isOwner && <p className="text-xs text-soft">Only owners can change the name.</p>}
        <ErrorNote error={rename.error} />
      </form>
      <KeyValue
        rows={[
          {
            name: "Slug",
            value: (
              <>
                <code className="font-mono">{about.slug}</code>
                <span className="text-soft"> used in URLs and commands; can't be changed</span>
              </>
            ),
          },
          {
            name: "Currency",
            value: (
              <>
                {about.currency}
                <span className="text-soft"> for wallet, limits and prices; can't be changed</span>
              </>
            ),
          },
          {
            name: "ID",
            value: (
              <span className="inline-flex items-center gap-1">
                <code className="font-mono text-xs break-all">{about.id}</code>
                <CopyButton text={about.id} label="Copy ID" />
              </span>
            ),
          },
          { name: "Created", value: <Time at={about.created_at} as="short" /> },
        ]}
      />
    </div>
  );
}

function DangerZone({ workspace, permissions }: { readonly workspace: string; readonly permissions: Permissions }) {
  const navigateTo = useNavigateTo();
  const [isConfirming, setIsConfirming] = useState(false);
  const leave = useManageMutation("manageRemoveMember", { onDone: () => navigateTo("/app", "replace") });
  return (
    <Card title="Danger zone" className="border-bad/40">
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
        <div className="min-w-0 flex-1 basis-72">
          <p className="font-medium">Leave workspace</p>
          <p className="text-soft">
            {permissions.isAdmin
              ? "Your personal keys and management tokens are revoked immediately. You need an invitation to rejoin."
              : "Ask an admin or owner to remove you. Your personal keys are then revoked."}
          </p>
        </div>
        {permissions.isAdmin && (
          <Button variant="danger" onClick={() => setIsConfirming(true)}>
            Leave workspace
          </Button>
        )}
      </div>
      <p className="mt-4 border-t pt-4 text-soft">To delete a workspace, contact the operator of this gateway.</p>
      <Confirm
        open={isConfirming}
        danger
        name={workspace}
        onClose={() => setIsConfirming(false)}
        title="Leave workspace?"
        action="Leave workspace"
        busy={leave.isPending}
        error={leave.error}
        onConfirm={() => leave.mutate({ params: { workspace, email: permissions.email } })}
      >
        <p>You lose access to this workspace.</p>
        <p>Your personal keys and management tokens are revoked.</p>
      </Confirm>
    </Card>
  );
}
