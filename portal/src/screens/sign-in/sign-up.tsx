import { useMutation, useQuery } from "@tanstack/react-query";
import { useSignInMethods } from "../../api/me.ts";
import {
  FETCH_ONCE,
  fetchSignUp,
  finishSignUp,
  requestSignUp,
  safeRedirectPath,
  useResetAfterSignIn,
} from "../../api/people.ts";
import { ErrorState } from "../../ui/error-state.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { useNavigateTo, useSearchParams } from "../../url-state.ts";
import { AccountForm, type NewAccount } from "./account-form.tsx";
import { AuthCard } from "./auth-card.tsx";
import { EmailLinkForm } from "./email-link-form.tsx";

/** Open sign-up: email first, then the rest through the emailed link. */
export function Screen() {
  const token = useSearchParams().get("token");
  return token === "" ? <RequestSignUp /> : <FinishSignUp token={token} />;
}

function RequestSignUp() {
  const methods = useSignInMethods();
  if (methods.isPending) return <SkeletonLines count={4} />;
  if (methods.data?.signup !== "open")
    return (
      <AuthCard title="Sign-up requires an invitation" about="Ask a workspace owner or admin for an invitation.">
        <LinkButton to="/app/sign-in">Sign in</LinkButton>
      </AuthCard>
    );
  const footer = (
    <>
      Already have an account? <Link to="/app/sign-in">Sign in</Link>
    </>
  );
  return (
    <AuthCard title="Sign up" about="We'll email you a link to finish signing up." footer={footer}>
      <EmailLinkForm requestLink={requestSignUp} condition="can be used" />
    </AuthCard>
  );
}

function FinishSignUp({ token }: { readonly token: string }) {
  const navigateTo = useNavigateTo();
  const next = safeRedirectPath(useSearchParams().get("next"));
  const resetAfterSignIn = useResetAfterSignIn();
  const signUp = useQuery({ queryKey: ["sign-up", token], queryFn: () => fetchSignUp(token), ...FETCH_ONCE });
  const finish = useMutation({
    mutationFn: ({ name, password }: NewAccount) => finishSignUp({ token, name, password }),
    onSuccess: async () => {
      await resetAfterSignIn();
      navigateTo(next, "replace");
    },
  });
  if (signUp.isPending) return <SkeletonLines count={5} />;
  if (signUp.error !== null) return <ErrorState error={signUp.error} onRetry={() => void signUp.refetch()} />;
  if (!signUp.data.good || signUp.data.email === null)
    return (
      <AuthCard title="Link no longer valid" about="It was already used or has expired.">
        <LinkButton to="/app/sign-up" variant="primary">
          Request new link
        </LinkButton>
      </AuthCard>
    );
  return (
    <AuthCard title="Finish signing up">
      <AccountForm
        email={signUp.data.email}
        action="Create account"
        busy={finish.isPending}
        error={finish.error}
        onSubmit={finish.mutate}
      />
    </AuthCard>
  );
}
