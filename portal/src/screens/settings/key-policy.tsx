import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { queryKeyOf, useManage, useManageMutation } from "../../api/hooks.ts";
import type { Permissions } from "../../api/permissions.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Switch } from "../../ui/field.tsx";
import { Card } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";

type KeyPolicy = ApiResponse<"manageShowKeyPolicy">;

/** Turning personal keys off stops existing ones, so it needs a confirmation. */
export function KeyPolicyCard({
  workspace,
  permissions,
}: {
  readonly workspace: string;
  readonly permissions: Permissions;
}) {
  const args = { params: { workspace } };
  const policy = useManage("manageShowKeyPolicy", args);
  const [isConfirming, setIsConfirming] = useState(false);
  const client = useQueryClient();
  const change = useManageMutation("manageChangeKeyPolicy", { onDone: () => setIsConfirming(false) });
  const set = (body: Partial<KeyPolicy>) => {
    const before = policy.data;
    // Optimistic update, reverted if the request fails.
    if (before !== undefined) client.setQueryData(queryKeyOf("manageShowKeyPolicy", args), { ...before, ...body });
    change.mutate(
      { ...args, body },
      { onError: () => client.setQueryData(queryKeyOf("manageShowKeyPolicy", args), before) },
    );
  };
  return (
    <Card title="Personal keys" about="Keys that belong to a member and are revoked when the member leaves">
      {policy.data === undefined ? (
        <SkeletonLines count={2} />
      ) : (
        <div className="grid max-w-2xl gap-4">
          <Switch
            label="Allow personal keys"
            hint="Personal keys stop working while this is off."
            checked={policy.data.personal_keys}
            disabled={!permissions.isAdmin}
            onChange={(isOn) => (isOn ? set({ personal_keys: true }) : setIsConfirming(true))}
          />
          <Switch
            label="Require approval"
            hint="An admin or owner approves each personal key under Keys before it works."
            checked={policy.data.approval}
            disabled={!permissions.isAdmin || !policy.data.personal_keys}
            onChange={(approval) => set({ approval })}
          />
          {!permissions.isAdmin && <p className="text-xs text-soft">Only admins and owners can change this.</p>}
        </div>
      )}
      <ErrorNote error={policy.error ?? change.error} />
      <Confirm
        open={isConfirming}
        danger
        onClose={() => setIsConfirming(false)}
        title="Turn off personal keys?"
        action="Turn off personal keys"
        busy={change.isPending}
        error={change.error}
        onConfirm={() => set({ personal_keys: false })}
      >
        <p>All personal keys of this workspace stop working until you turn them on again.</p>
      </Confirm>
    </Card>
  );
}
