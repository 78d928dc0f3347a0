import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigateTo, useSearchParams } from "../../address.ts";
import { FETCH_ONCE, fetchSetup, setUp, useResetAfterSignIn } from "../../api/people.ts";
import { CodeBlock } from "../../ui/code-block.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { AccountForm, type NewAccount } from "./account-form.tsx";
import { AuthCard } from "./auth-card.tsx";

const NO_TOKEN = "-";

/** The first person, who runs this gateway; guarded by the link that was printed at the start. */
export function Screen() {
  // Not in the address any more while one is led on.
  const [token] = useState(useSearchParams().get("token"));
  const go = useNavigateTo();
  const signedIn = useResetAfterSignIn();
  // An address that lost its token is told the same as one whose token is wrong.
  const queryFn = () => fetchSetup(token === "" ? NO_TOKEN : token);
  const standing = useQuery({ queryKey: ["setup", token], queryFn, ...FETCH_ONCE });
  const make = useMutation({
    mutationFn: (account: NewAccount) => setUp({ token, ...account }),
    onSuccess: async () => {
      await signedIn();
      go("/", "replace");
    },
  });
  if (standing.isPending) return <SkeletonLines count={5} />;
  if (standing.error !== null) return <ErrorState error={standing.error} onRetry={() => void standing.refetch()} />;
  if (!standing.data.needed)
    return (
      <AuthCard
        title="This gateway is set up"
        about="The set-up link works once. Sign in with the account that was made with it."
      >
        <LinkButton to="/app/sign-in" look="primary">
          Sign in
        </LinkButton>
      </AuthCard>
    );
  if (!standing.data.good)
    return (
      <AuthCard
        title="This link is not good any more"
        about="Set-up needs the one-time link that the gateway prints when it starts. Get a new one on the machine that it runs on:"
      >
        <CodeBlock code="bin/gateway setup-link" label="Command" />
      </AuthCard>
    );
  return (
    <AuthCard
      title="Set up your gateway"
      about="You are the first one here. This account runs the gateway: it sees every workspace and invites the others."
    >
      <AccountForm action="Create the account" busy={make.isPending} error={make.error} onSubmit={make.mutate} />
    </AuthCard>
  );
}
