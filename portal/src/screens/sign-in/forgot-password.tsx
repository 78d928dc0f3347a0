import { useSignInMethods } from "../../api/me.ts";
import { requestPasswordReset } from "../../api/people.ts";
import { Link } from "../../ui/link.tsx";
import { AuthCard } from "./auth-card.tsx";
import { EmailLinkForm } from "./email-link-form.tsx";

export function Screen() {
  const methods = useSignInMethods();
  const footer = <Link to="/app/sign-in">Back to sign-in</Link>;
  if (methods.data?.mail === false)
    return (
      <AuthCard
        title="Reset password"
        about="Email isn't set up on this gateway. Ask the operator for a password reset link."
        footer={footer}
      />
    );
  return (
    <AuthCard title="Reset password" about="We'll email you a link to set a new password." footer={footer}>
      <EmailLinkForm requestLink={requestPasswordReset} condition="has an account" />
    </AuthCard>
  );
}
