import type { Viewer } from "../screen.ts";
import { EmptyState } from "../ui/empty-state.tsx";
import { LinkButton } from "../ui/link.tsx";

export function NotFound() {
  return (
    <EmptyState
      icon="search"
      heading="h1"
      title="There is no such page"
      hint="The address may be mistyped, or what it led to is gone."
    >
      <LinkButton to="/" look="primary">
        Go to the start
      </LinkButton>
    </EmptyState>
  );
}

export function NoWorkspace() {
  return (
    <EmptyState
      icon="search"
      heading="h1"
      title="There is no such workspace here"
      hint="You may not be a member of it. Ask one of its owners for an invitation, or choose another one."
    >
      <LinkButton to="/" look="primary">
        Your workspaces
      </LinkButton>
    </EmptyState>
  );
}

export function NotAllowed({ visibleTo }: { readonly visibleTo: Viewer }) {
  const who =
    visibleTo === "operator" ? "the operator of this gateway" : visibleTo === "owner" ? "owners" : "admins and owners";
  const whom = visibleTo === "operator" ? "whoever runs this gateway" : "an owner of the workspace";
  return <EmptyState icon="lock" heading="h1" title={`This is for ${who}`} hint={`Ask ${whom} if you need it.`} />;
}
