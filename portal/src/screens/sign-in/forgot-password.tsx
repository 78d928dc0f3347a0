import { useSignInMethods } from "../../api/me.ts";
import { requestPasswordReset } from "../../api/people.ts";
import { Link } from "../../ui/link.tsx";
import { AskForLink } from "./ask-for-link.tsx";
import { AuthCard } from "./auth-card.tsx";

export function Screen() {
  const ways = useSignInMethods();
  const footer = <Link to="/app/sign-in">Back to sign-in</Link>;
  if (ways.data?.mail === false)
    return (
      <AuthCard
        title="A new password"
        about="This gateway sends no mails. Ask its operator for a link to set a new password."
        footer={footer}
      />
    );
  return (
    <AuthCard title="A new password" about="We send a link to your address." footer={footer}>
      <AskForLink ask={requestPasswordReset} provided="has an account" />
    </AuthCard>
  );
}
