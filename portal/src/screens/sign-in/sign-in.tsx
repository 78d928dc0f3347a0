import { useState } from "react";
import { useSignInMethods } from "../../api/me.ts";
import { safeRedirectPath, useResetAfterSignIn } from "../../api/people.ts";
import { ErrorState } from "../../ui/error-state.tsx";
import { Link } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { useNavigateTo, useSearchParams } from "../../url-state.ts";
import { AuthCard } from "./auth-card.tsx";
import { CodeStep } from "./code-step.tsx";
import { SignInForm } from "./sign-in-form.tsx";

export function Screen() {
  const { get } = useSearchParams();
  const [step, setStep] = useState<"methods" | "code">("methods");
  const methods = useSignInMethods();
  const resetAfterSignIn = useResetAfterSignIn();
  const navigateTo = useNavigateTo();
  const next = safeRedirectPath(get("next"));
  const finishSignIn = async () => {
    await resetAfterSignIn();
    navigateTo(next, "replace");
  };
  if (methods.isPending) return <SkeletonLines count={5} />;
  if (methods.data === undefined) return <ErrorState error={methods.error} onRetry={() => void methods.refetch()} />;
  if (step === "code")
    return (
      <AuthCard title="Two-factor authentication" about="Enter a code to finish signing in.">
        <CodeStep onDone={finishSignIn} onBack={() => setStep("methods")} />
      </AuthCard>
    );
  return (
    <AuthCard
      title="Sign in"
      footer={<Footer signup={methods.data.signup} isSetUp={!methods.data.setup_needed} next={next} />}
    >
      <SignInForm
        methods={methods.data}
        next={next}
        ssoError={get("error")}
        onDone={finishSignIn}
        onCode={() => setStep("code")}
      />
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
  if (!isSetUp) return "This gateway isn't set up yet. Open the set-up link that it printed at start.";
  if (signup === "invited") return "No account? Ask a workspace owner or admin for an invitation.";
  return (
    <>
      No account? <Link to={`/app/sign-up?${new URLSearchParams({ next })}`}>Sign up</Link>
    </>
  );
}
