import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigateTo, useSearchParams } from "../../address.ts";
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
import { AccountForm, type NewAccount } from "./account-form.tsx";
import { AskForLink } from "./ask-for-link.tsx";
import { AuthCard } from "./auth-card.tsx";

/** Sign-up where it is open: first the address, then through the mailed link the rest. */
export function Screen() {
  const token = useSearchParams().get("token");
  return token === "" ? <Ask /> : <Finish token={token} />;
}

function Ask() {
  const ways = useSignInMethods();
  if (ways.isPending) return <SkeletonLines count={4} />;
  if (ways.data?.signup !== "open")
    return (
      <AuthCard
        title="Sign-up is by invitation"
        about="An owner or admin of a workspace can invite you: ask them for a link."
      >
        <LinkButton to="/app/sign-in">Sign in</LinkButton>
      </AuthCard>
    );
  const footer = (
    <>
      Been here before? <Link to="/app/sign-in">Sign in</Link>
    </>
  );
  return (
    <AuthCard title="Sign up" about="We send a link to your address; the rest is done there." footer={footer}>
      <AskForLink ask={requestSignUp} provided="can be used" />
    </AuthCard>
  );
}

function Finish({ token }: { readonly token: string }) {
  const go = useNavigateTo();
  const next = safeRedirectPath(useSearchParams().get("next"));
  const signedIn = useResetAfterSignIn();
  const standing = useQuery({ queryKey: ["sign-up", token], queryFn: () => fetchSignUp(token), ...FETCH_ONCE });
  const finish = useMutation({
    mutationFn: ({ name, password }: NewAccount) => finishSignUp({ token, name, password }),
    onSuccess: async () => {
      await signedIn();
      go(next, "replace");
    },
  });
  if (standing.isPending) return <SkeletonLines count={5} />;
  if (standing.error !== null) return <ErrorState error={standing.error} onRetry={() => void standing.refetch()} />;
  if (!standing.data.good || standing.data.email === null)
    return (
      <AuthCard title="This link is not good any more" about="It was used, or is too old.">
        <LinkButton to="/app/sign-up" look="primary">
          Get a new one
        </LinkButton>
      </AuthCard>
    );
  return (
    <AuthCard title="Finish signing up">
      <AccountForm
        email={standing.data.email}
        action="Create the account"
        busy={finish.isPending}
        error={finish.error}
        onSubmit={finish.mutate}
      />
    </AuthCard>
  );
}
