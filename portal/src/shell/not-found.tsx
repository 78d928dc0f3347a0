import type { Viewer } from "../screen.ts";
import { EmptyState } from "../ui/empty-state.tsx";
import { LinkButton } from "../ui/link.tsx";
import { WorkspaceAdmins } from "../ui/workspace-admins.tsx";

export function NotFound() {
  return (
    <EmptyState
      icon="search"
      heading="h1"
      title="Page not found"
      hint="Check the URL. The page may have been moved or deleted."
    >
      <LinkButton to="/" variant="primary">
        Go to home
      </LinkButton>
    </EmptyState>
  );
}

export function NoWorkspace() {
  return (
    <EmptyState
      icon="search"
      heading="h1"
      title="Workspace not found"
      hint="It doesn't exist or you are not a member. Ask an owner for an invitation."
    >
      <LinkButton to="/" variant="primary">
        View workspaces
      </LinkButton>
    </EmptyState>
  );
}

export function NotAllowed({ visibleTo, workspace }: { readonly visibleTo: Viewer; readonly workspace: string }) {
  const roles = visibleTo === "operator" ? "operators" : visibleTo === "owner" ? "owners" : "admins and owners";
  const contact = visibleTo === "operator" ? "the gateway operator" : <WorkspaceAdmins workspace={workspace} />;
  return <EmptyState icon="lock" heading="h1" title={`Only ${roles} can view this page`} hint={<>Ask {contact}.</>} />;
}
