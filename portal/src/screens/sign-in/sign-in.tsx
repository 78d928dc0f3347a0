import { useState } from "react";
import { useNavigateTo, useSearchParams } from "../../address.ts";
import { useSignInMethods } from "../../api/me.ts";
import { safeRedirectPath, useResetAfterSignIn } from "../../api/people.ts";
import { ErrorState } from "../../ui/error-state.tsx";
import { Link } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { AuthCard } from "./auth-card.tsx";
import { CodeStep } from "./code-step.tsx";
import { Ways } from "./ways.tsx";

/** Sign-in: password, passkey or single sign-on; then the second factor, where there is one. */
export function Screen() {
  const { get } = useSearchParams();
  const [step, setStep] = useState<"ways" | "code">("ways");
  const ways = useSignInMethods();
  const signedIn = useResetAfterSignIn();
  const go = useNavigateTo();
  const next = safeRedirectPath(get("next"));
  const enter = async () => {
    await signedIn();
    go(next, "replace");
  };
  if (ways.isPending) return <SkeletonLines count={5} />;
  if (ways.data === undefined) return <ErrorState error={ways.error} onRetry={() => void ways.refetch()} />;
  if (step === "code")
    return (
      <AuthCard title="Second step" about="Your password was right. Now prove that you have your second factor.">
        <CodeStep onDone={enter} onBack={() => setStep("ways")} />
      </AuthCard>
    );
  return (
    <AuthCard
      title="Sign in"
      footer={<Footer signup={ways.data.signup} isSetUp={!ways.data.setup_needed} next={next} />}
    >
      <Ways ways={ways.data} next={next} ssoError={get("error")} onDone={enter} onCode={() => setStep("code")} />
    </AuthCard>
  );
}

function Footer({
  signup,
  isSetUp,
  next,
}: {
  readonly signup: "invited" | "open";
  readonly isSetUp: boolean;
  readonly next: string;
}) {
  if (!isSetUp) return "This gateway is not set up yet: open the link that it printed when it started.";
  if (signup === "invited") return "New here? An owner or admin of a workspace can invite you.";
  return (
    <>
      New here? <Link to={`/app/sign-up?${new URLSearchParams({ next })}`}>Sign up</Link>
    </>
  );
}
