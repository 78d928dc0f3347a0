import { useMutation } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { apiErrorOf } from "../../api/error.ts";
import { resetPassword } from "../../api/people.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Callout } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { useSearchParams } from "../../url-state.ts";
import { AuthCard } from "./auth-card.tsx";
import { NewPasswordField } from "./password-fields.tsx";

/** Target of password reset links. */
export function Screen() {
  const token = useSearchParams().get("token");
  const [password, setPassword] = useState("");
  const reset = useMutation({ mutationFn: () => resetPassword(token, password) });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    reset.mutate();
  };
  if (reset.isSuccess)
    return (
      <AuthCard title="Reset password">
        <Callout tone="good">Password changed. All other sessions were signed out.</Callout>
        <LinkButton to="/app/sign-in" variant="primary">
          Sign in
        </LinkButton>
      </AuthCard>
    );
  if (token === "")
    return (
      <AuthCard title="Reset password">
        <Callout tone="warn">This link is incomplete. Open the link from the email again or request a new one.</Callout>
        <LinkButton to="/app/forgot-password">Request new link</LinkButton>
      </AuthCard>
    );
  const error = reset.error === null ? undefined : apiErrorOf(reset.error);
  const isPassword = error?.param === "newPassword" || error?.param === "password";
  return (
    <AuthCard title="Reset password">
      <form onSubmit={submit} className="grid gap-4">
        {!isPassword && <ErrorNote error={error} />}
        <NewPasswordField
          label="New password"
          value={password}
          onChange={setPassword}
          error={isPassword ? error?.message : undefined}
        />
        <Button type="submit" variant="primary" busy={reset.isPending}>
          Set password
        </Button>
      </form>
    </AuthCard>
  );
}
