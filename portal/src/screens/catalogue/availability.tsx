import { useState } from "react";
import type { PublicModel } from "../../../../src/contract/schemas/catalogue.ts";
import { usePermissions } from "../../api/permissions.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { WorkspaceAdmins } from "../../ui/workspace-admins.tsx";
import { pathIn } from "../../url-state.ts";

/** The provider to connect: the first endpoint that only lacks a connection. */
function providerToConnect({ endpoints }: Pick<PublicModel, "endpoints">): string | undefined {
  return endpoints.find(({ unavailable }) => unavailable?.code === "not_connected")?.provider;
}

/** What makes an unavailable model callable: a provider key, a policy change, or asking an admin. */
export function AvailabilityAction({
  model,
  workspace,
  size = "normal",
}: {
  readonly model: PublicModel;
  readonly workspace: string;
  readonly size?: "small" | "normal";
}) {
  const { isAdmin } = usePermissions(workspace);
  const code = model.unavailable?.code;
  if (code === "excluded_by_policy")
    return (
      <LinkButton to={pathIn(workspace, "policy")} size={size} icon="shield">
        View policy
      </LinkButton>
    );
  if (code !== "not_connected") return null;
  if (!isAdmin) return <AskAdmin workspace={workspace} size={size} />;
  const query = new URLSearchParams({ provider: providerToConnect(model) ?? "" });
  return (
    <LinkButton to={`${pathIn(workspace, "provider-keys")}?${query}`} size={size} variant="primary" icon="plug">
      Connect
    </LinkButton>
  );
}

function AskAdmin({ workspace, size }: { readonly workspace: string; readonly size: "small" | "normal" }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button size={size} icon="plug" onClick={() => setIsOpen(true)}>
        Ask an admin
      </Button>
      <Dialog open={isOpen} onClose={() => setIsOpen(false)} title="Connect provider" size="small">
        <p>
          No connected provider serves this model. Only admins can connect one: ask{" "}
          <WorkspaceAdmins workspace={workspace} />.
        </p>
      </Dialog>
    </>
  );
}
