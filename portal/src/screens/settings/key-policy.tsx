import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { queryKeyOf, useManage, useManageMutation } from "../../api/hooks.ts";
import type { Permissions } from "../../api/powers.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Switch } from "../../ui/field.tsx";
import { Card } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";

type KeyPolicy = ApiResponse<"manageShowKeyPolicy">;

/** Who may have keys of their own. Switching them off stops the ones that exist, so that is asked first. */
export function KeyPolicyCard({
  workspace,
  permissions,
}: {
  readonly workspace: string;
  readonly permissions: Permissions;
}) {
  const asked = { params: { workspace } };
  const policy = useManage("manageShowKeyPolicy", asked);
  const [isAsking, setIsAsking] = useState(false);
  const client = useQueryClient();
  const change = useManageMutation("manageChangeKeyPolicy", { onDone: () => setIsAsking(false) });
  const set = (body: Partial<KeyPolicy>) => {
    const before = policy.data;
    // The switch moves at once, and back if it is refused.
    if (before !== undefined) client.setQueryData(queryKeyOf("manageShowKeyPolicy", asked), { ...before, ...body });
    change.mutate(
      { ...asked, body },
      { onError: () => client.setQueryData(queryKeyOf("manageShowKeyPolicy", asked), before) },
    );
  };
  return (
    <Card title="Personal keys" about="Keys that belong to one member and end with their membership.">
      {policy.data === undefined ? (
        <SkeletonLines count={2} />
      ) : (
        <div className="grid max-w-2xl gap-4">
          <Switch
            label="Members may have personal keys"
            hint="While this is off, personal keys do not work. They work again when it is on."
            checked={policy.data.personal_keys}
            disabled={!permissions.isAdmin}
            onChange={(isOn) => (isOn ? set({ personal_keys: true }) : setIsAsking(true))}
          />
          <Switch
            label="A personal key waits for approval"
            hint="An admin or an owner approves each on the Keys screen before it works."
            checked={policy.data.approval}
            disabled={!permissions.isAdmin || !policy.data.personal_keys}
            onChange={(approval) => set({ approval })}
          />
          {!permissions.isAdmin && <p className="text-xs text-soft">Admins and owners change this.</p>}
        </div>
      )}
      <ErrorNote error={policy.error ?? change.error} />
      <Confirm
        open={isAsking}
        danger
        onClose={() => setIsAsking(false)}
        title="Switch personal keys off?"
        action="Switch them off"
        busy={change.isPending}
        error={change.error}
        onConfirm={() => set({ personal_keys: false })}
      >
        <p>Every personal key of this workspace stops on its next request, until they are switched on again.</p>
      </Confirm>
    </Card>
  );
}
