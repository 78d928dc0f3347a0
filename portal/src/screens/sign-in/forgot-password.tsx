import { useMutation } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { useSignInWays } from "../../api/me.ts";
import { askForReset } from "../../api/people.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Callout } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { AuthCard } from "./auth-card.tsx";

export function Screen() {
  const ways = useSignInWays();
  const [email, setEmail] = useState("");
  const ask = useMutation({ mutationFn: () => askForReset(email.trim()) });
  const footer = <Link to="/app/sign-in">Back to sign-in</Link>;
  if (ways.data?.mail === false)
    return (
      <AuthCard
        title="A new password"
        about="This gateway sends no mails. Ask its operator for a link to set a new password."
        footer={footer}
      />
    );
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    ask.mutate();
  };
  return (
    <AuthCard title="A new password" about="We send a link to your address." footer={footer}>
      {ask.isSuccess ? (
        <Callout tone="good" title="Look into your mail">
          If {email} has an account, a link is on its way to it.
        </Callout>
      ) : (
        <form onSubmit={submit} className="grid gap-4">
          <ErrorNote error={ask.error} />
          <Field label="E-mail address">
            <Input
              type="email"
              name="email"
              autoComplete="username"
              required
              value={email}
              onChange={(event) => setEmail(event.target.value)}
            />
          </Field>
          <Button type="submit" look="primary" busy={ask.isPending}>
            Send the link
          </Button>
        </form>
      )}
    </AuthCard>
  );
}
