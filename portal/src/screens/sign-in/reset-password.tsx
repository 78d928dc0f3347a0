import { useMutation } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { useSearchParams } from "../../address.ts";
import { apiErrorOf } from "../../api/error.ts";
import { resetPassword } from "../../api/people.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Callout } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { AuthCard } from "./auth-card.tsx";
import { NewPassword } from "./passwords.tsx";

/** Where the link of a mail, or of an operator, leads to. */
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
      <AuthCard title="A new password">
        <Callout tone="good">Your new password is set. Every other session has ended.</Callout>
        <LinkButton to="/app/sign-in" look="primary">
          Sign in
        </LinkButton>
      </AuthCard>
    );
  if (token === "")
    return (
      <AuthCard title="A new password">
        <Callout tone="warn">This address is not whole. Open the link of the mail again, or ask for a new one.</Callout>
        <LinkButton to="/app/forgot-password">Ask for a new link</LinkButton>
      </AuthCard>
    );
  const error = reset.error === null ? undefined : apiErrorOf(reset.error);
  const isPassword = error?.param === "newPassword" || error?.param === "password";
  return (
    <AuthCard title="A new password">
      <form onSubmit={submit} className="grid gap-4">
        {!isPassword && <ErrorNote error={error} />}
        <NewPassword
          label="New password"
          value={password}
          onChange={setPassword}
          error={isPassword ? error?.message : undefined}
        />
        <Button type="submit" look="primary" busy={reset.isPending}>
          Set the password
        </Button>
      </form>
    </AuthCard>
  );
}
