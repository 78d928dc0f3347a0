import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import type { Permissions } from "../../api/permissions.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Textarea } from "../../ui/field.tsx";
import { Card } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { toast } from "../../ui/toast.tsx";

type Props = { readonly workspace: string; readonly permissions: Permissions };

/** Addresses from which the keys of the workspace work. */
export function IpAllowlistCard({ workspace, permissions }: Props) {
  const policy = useManage("manageShowKeyPolicy", { params: { workspace } });
  return (
    <Card title="IP allowlist" about="IP addresses from which API keys of this workspace work">
      {policy.data === undefined ? (
        policy.error === null ? (
          <SkeletonLines count={2} />
        ) : (
          <ErrorNote error={policy.error} />
        )
      ) : (
        <AllowlistForm
          key={String(policy.data.ip_allowlist)}
          workspace={workspace}
          permissions={permissions}
          policy={policy.data}
        />
      )}
    </Card>
  );
}

function AllowlistForm({
  workspace,
  permissions,
  policy,
}: Props & { readonly policy: ApiResponse<"manageShowKeyPolicy"> }) {
  const saved = (policy.ip_allowlist ?? []).join("\n");
  const [text, setText] = useState(saved);
  const change = useManageMutation("manageChangeKeyPolicy", { onDone: () => toast("IP allowlist saved") });
  const entries = text.split(/[\s,;]+/).filter((entry) => entry !== "");
  const isChanged = entries.join("\n") !== saved;
  const entryError = change.error?.param === "ip_allowlist" ? change.error.message : undefined;
  return (
    <form
      className="grid max-w-2xl gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate({ params: { workspace }, body: { ip_allowlist: entries.length === 0 ? null : entries } });
      }}
    >
      <Field
        label="Allowed addresses"
        hint="IP addresses or CIDR blocks such as 203.0.113.0/24, one per line. Leave empty for all. A key's own IP allowlist applies in addition. Requests from other addresses fail with 403 ip_not_allowed. The portal and the management API aren't affected."
        error={entryError}
      >
        <Textarea
          mono
          rows={3}
          value={text}
          disabled={!permissions.isAdmin}
          spellCheck={false}
          onChange={(event) => setText(event.target.value)}
        />
      </Field>
      {permissions.isAdmin ? (
        <Button
          type="submit"
          variant="primary"
          className="justify-self-start"
          disabled={!isChanged}
          busy={change.isPending}
        >
          Save IP allowlist
        </Button>
      ) : (
        <p className="text-xs text-soft">Only admins and owners can change this.</p>
      )}
      {entryError === undefined && <ErrorNote error={change.error} />}
    </form>
  );
}
