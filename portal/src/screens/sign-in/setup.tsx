import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { FETCH_ONCE, fetchSetup, setUp, useResetAfterSignIn } from "../../api/people.ts";
import { CodeBlock } from "../../ui/code-block.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { useNavigateTo, useSearchParams } from "../../url-state.ts";
import { AccountForm, type NewAccount } from "./account-form.tsx";
import { AuthCard } from "./auth-card.tsx";

const NO_TOKEN = "-";

/** Creates the first operator; protected by the set-up link that the gateway prints at start. */
export function Screen() {
  // Kept in state: the URL changes during the redirect.
  const [token] = useState(useSearchParams().get("token"));
  const navigateTo = useNavigateTo();
  const resetAfterSignIn = useResetAfterSignIn();
  // A missing token gets the same response as a wrong one.
  const queryFn = () => fetchSetup(token === "" ? NO_TOKEN : token);
  const setup = useQuery({ queryKey: ["setup", token], queryFn, ...FETCH_ONCE });
  const createAccount = useMutation({
    mutationFn: (account: NewAccount) => setUp({ token, ...account }),
    onSuccess: async () => {
      await resetAfterSignIn();
      navigateTo("/", "replace");
    },
  });
  if (setup.isPending) return <SkeletonLines count={5} />;
  if (setup.error !== null) return <ErrorState error={setup.error} onRetry={() => void setup.refetch()} />;
  if (!setup.data.needed)
    return (
      <AuthCard title="Already set up" about="The set-up link works once. Sign in with the account created with it.">
        <LinkButton to="/app/sign-in" variant="primary">
          Sign in
        </LinkButton>
      </AuthCard>
    );
  if (!setup.data.good)
    return (
      <AuthCard
        title="Link no longer valid"
        about="Set-up requires the one-time link that the gateway prints at start. Create a new one on the gateway's machine:"
      >
        <CodeBlock code="bin/gateway setup-link" label="Command" />
      </AuthCard>
    );
  return (
    <AuthCard
      title="Set up your gateway"
      about="Create the operator account. It manages the gateway and all workspaces."
    >
      <AccountForm
        action="Create account"
        busy={createAccount.isPending}
        error={createAccount.error}
        onSubmit={createAccount.mutate}
      />
    </AuthCard>
  );
}
