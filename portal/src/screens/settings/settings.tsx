import { useState } from "react";
import { useNavigateTo, useWorkspace } from "../../address.ts";
import type { ApiResponse } from "../../api/client.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { type Permissions, usePermissions } from "../../api/powers.ts";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ErrorNote, ErrorState } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Card, KeyValue, PageHeader, Stack } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
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
        about="What holds for the whole workspace."
        actions={
          <CallButton
            calls={[
              { id: "manageShowWorkspace", args: { params: { workspace } }, says: "Show the workspace" },
              {
                id: "manageChangeWorkspace",
                args: { params: { workspace }, body: { name: "Research" } },
                says: "Rename it",
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
            <General key={about.data.name} about={about.data} permissions={permissions} />
          )}
        </Card>
        <KeyPolicyCard workspace={workspace} permissions={permissions} />
        {permissions.isAdmin && <StoredResponses workspace={workspace} />}
        {permissions.role !== undefined && <Danger workspace={workspace} permissions={permissions} />}
      </Stack>
    </>
  );
}

/** Its name can be changed by an owner; the rest is for good. */
function General({
  about,
  permissions,
}: {
  readonly about: ApiResponse<"manageShowWorkspace">;
  readonly permissions: Permissions;
}) {
  const [name, setName] = useState(about.name);
  const rename = useManageMutation("manageChangeWorkspace", { onDone: () => toast("The workspace has its new name.") });
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
            <Button type="submit" look="primary" disabled={!isChanged} busy={rename.isPending}>
              Rename
            </Button>
          )}
        </div>
        {!permissions.isOwner && <p className="text-xs text-soft">An owner changes the name.</p>}
        <ErrorNote error={rename.error} />
      </form>
      <KeyValue
        rows={[
          {
            name: "Short name",
            value: (
              <>
                <code className="font-mono">{about.slug}</code>
                <span className="text-soft"> in addresses and commands; it stays</span>
              </>
            ),
          },
          {
            name: "Currency",
            value: (
              <>
                {about.currency}
                <span className="text-soft"> of the wallet, limits and prices; it stays</span>
              </>
            ),
          },
          {
            name: "Id",
            value: (
              <span className="inline-flex items-center gap-1">
                <code className="font-mono text-xs break-all">{about.id}</code>
                <CopyButton text={about.id} label="Copy the id" />
              </span>
            ),
          },
          { name: "Created", value: <Time at={about.created_at} as="short" /> },
        ]}
      />
    </div>
  );
}

/** What cannot be undone. */
function Danger({ workspace, permissions }: { readonly workspace: string; readonly permissions: Permissions }) {
  const go = useNavigateTo();
  const [isAsking, setIsAsking] = useState(false);
  const leave = useManageMutation("manageRemoveMember", { onDone: () => go("/app", "replace") });
  return (
    <Card title="Danger zone" className="border-bad/40">
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
        <div className="min-w-0 flex-1 basis-72">
          <p className="font-medium">Leave this workspace</p>
          <p className="text-soft">
            {permissions.isAdmin
              ? "Your personal keys and the management tokens that you made end at once. Coming back needs an invitation."
              : "Ask an admin or an owner to remove you. Your personal keys here are revoked then."}
          </p>
        </div>
        {permissions.isAdmin && (
          <Button look="danger" onClick={() => setIsAsking(true)}>
            Leave
          </Button>
        )}
      </div>
      <p className="mt-4 border-t pt-4 text-soft">
        A workspace cannot be deleted here: its money and its log would go with it. Ask the operator of this gateway.
      </p>
      <Confirm
        open={isAsking}
        danger
        name={workspace}
        onClose={() => setIsAsking(false)}
        title="Leave this workspace?"
        action="Leave"
        busy={leave.isPending}
        error={leave.error}
        onConfirm={() => leave.mutate({ params: { workspace, email: permissions.email } })}
      >
        <p>You do not see it any more.</p>
        <p>Your personal keys and the management tokens that you made stop on the next request.</p>
      </Confirm>
    </Card>
  );
}
