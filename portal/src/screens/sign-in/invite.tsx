import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useMe } from "../../api/me.ts";
import { acceptInvitation, FETCH_ONCE, showInvitation, useResetAfterSignIn } from "../../api/people.ts";
import { useSignOut } from "../../shell/account-menu.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote, ErrorState } from "../../ui/error-state.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { pathIn, useCurrentPath, useNavigateTo, useSearchParams } from "../../url-state.ts";
import { AccountForm, type NewAccount } from "./account-form.tsx";
import { AuthCard } from "./auth-card.tsx";

type Invitation = Awaited<ReturnType<typeof showInvitation>>;

/** Accepts an invitation with a new account, an existing one or the signed-in one. */
export function Screen() {
  // Kept in state: the URL changes during the redirect.
  const [token] = useState(useSearchParams().get("token"));
  const me = useMe();
  const invitation = useQuery({ queryKey: ["invitation", token], queryFn: () => showInvitation(token), ...FETCH_ONCE });
  if (invitation.isPending) return <SkeletonLines count={5} />;
  if (invitation.error !== null && /not_found/.test(String(Reflect.get(invitation.error, "code"))))
    return (
      <EmptyState
        icon="people"
        heading="h1"
        title="Invitation no longer valid"
        hint="It was already used, revoked or has expired. Ask for a new invitation."
      >
        <LinkButton to="/">{me.data ? "View workspaces" : "Sign in"}</LinkButton>
      </EmptyState>
    );
  if (invitation.error !== null)
    return <ErrorState error={invitation.error} onRetry={() => void invitation.refetch()} />;
  const { workspace, role } = invitation.data;
  const about = (
    <>
      You were invited as <strong className="font-semibold text-ink">{role}</strong>.
    </>
  );
  return (
    <AuthCard title={`Join ${workspace.name}`} about={about}>
      <Accept token={token} invitation={invitation.data} />
    </AuthCard>
  );
}

function Accept({ token, invitation }: { readonly token: string; readonly invitation: Invitation }) {
  const me = useMe();
  const currentPath = useCurrentPath();
  const navigateTo = useNavigateTo();
  const resetAfterSignIn = useResetAfterSignIn();
  const signOut = useSignOut();
  const accept = useMutation({
    mutationFn: (account: NewAccount | null) =>
      acceptInvitation(token, account === null ? {} : { name: account.name, password: account.password }),
    onSuccess: async (accepted) => {
      await resetAfterSignIn();
      navigateTo(pathIn(accepted.workspace), "replace");
    },
  });
  if (me.isPending) return <SkeletonLines count={3} />;
  const email = me.data?.email;
  if (email !== undefined && email.toLowerCase() !== invitation.email.toLowerCase())
    return (
      <>
        <p>
          This invitation is for <strong className="font-semibold">{invitation.email}</strong>, but you are signed in as{" "}
          {email}. Sign out, then open the link again.
        </p>
        <Button icon="out" onClick={signOut}>
          Sign out
        </Button>
      </>
    );
  if (email !== undefined)
    return (
      <>
        <ErrorNote error={accept.error} />
        <Button variant="primary" busy={accept.isPending} onClick={() => accept.mutate(null)}>
          Accept invitation
        </Button>
      </>
    );
  if (invitation.account_exists)
    return (
      <>
        <p>You already have an account for {invitation.email}. Sign in to accept the invitation.</p>
        <LinkButton to={`/app/sign-in?${new URLSearchParams({ next: currentPath })}`} variant="primary">
          Sign in
        </LinkButton>
      </>
    );
  return (
    <AccountForm
      email={invitation.email}
      action="Create account and join"
      busy={accept.isPending}
      error={accept.error}
      onSubmit={accept.mutate}
    />
  );
}
