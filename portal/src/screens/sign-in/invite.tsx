import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { pathIn, useCurrentPath, useNavigateTo, useSearchParams } from "../../address.ts";
import { useMe } from "../../api/me.ts";
import { acceptInvitation, FETCH_ONCE, showInvitation, useResetAfterSignIn } from "../../api/people.ts";
import { useSignOut } from "../../shell/account-menu.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote, ErrorState } from "../../ui/error-state.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { AccountForm, type NewAccount } from "./account-form.tsx";
import { AuthCard } from "./auth-card.tsx";

type Invitation = Awaited<ReturnType<typeof showInvitation>>;

/** An invitation: for somebody new, for somebody who has an account, and for somebody who is signed in already. */
export function Screen() {
  // Not in the address any more while one is led on.
  const [token] = useState(useSearchParams().get("token"));
  const me = useMe();
  const invitation = useQuery({ queryKey: ["invitation", token], queryFn: () => showInvitation(token), ...FETCH_ONCE });
  if (invitation.isPending) return <SkeletonLines count={5} />;
  if (invitation.error !== null && /not_found/.test(String(Reflect.get(invitation.error, "code"))))
    return (
      <EmptyState
        icon="people"
        heading="h1"
        title="This invitation is not good any more"
        hint="It was used, withdrawn, or is too old. Ask whoever invited you for a new one."
      >
        <LinkButton to="/">{me.data ? "Your workspaces" : "Sign in with an account you have"}</LinkButton>
      </EmptyState>
    );
  if (invitation.error !== null)
    return <ErrorState error={invitation.error} onRetry={() => void invitation.refetch()} />;
  const { workspace, role } = invitation.data;
  const about = (
    <>
      You are invited as <strong className="font-semibold text-ink">{role}</strong>.
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
  const here = useCurrentPath();
  const go = useNavigateTo();
  const signedIn = useResetAfterSignIn();
  const signOut = useSignOut();
  const accept = useMutation({
    mutationFn: (account: NewAccount | null) =>
      acceptInvitation(token, account === null ? {} : { name: account.name, password: account.password }),
    onSuccess: async (answer) => {
      await signedIn();
      go(pathIn(answer.workspace), "replace");
    },
  });
  if (me.isPending) return <SkeletonLines count={3} />;
  const email = me.data?.email;
  if (email !== undefined && email.toLowerCase() !== invitation.email.toLowerCase())
    return (
      <>
        <p>
          It is for <strong className="font-semibold">{invitation.email}</strong>, and you are signed in as {email}.
          Sign out first, then open the link again.
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
        <Button look="primary" busy={accept.isPending} onClick={() => accept.mutate(null)}>
          Accept the invitation
        </Button>
      </>
    );
  if (invitation.account_exists)
    return (
      <>
        <p>You have an account with {invitation.email} already. Sign in, and you are brought back here.</p>
        <LinkButton to={`/app/sign-in?${new URLSearchParams({ next: here })}`} look="primary">
          Sign in
        </LinkButton>
      </>
    );
  return (
    <AccountForm
      email={invitation.email}
      action="Create the account and join"
      busy={accept.isPending}
      error={accept.error}
      onSubmit={accept.mutate}
    />
  );
}
