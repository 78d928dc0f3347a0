import { useMutation } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Callout } from "../../ui/layout.tsx";

type Props = {
  readonly requestLink: (email: string) => Promise<unknown>;
  /** The condition for sending the email. The response never reveals whether an account exists. */
  readonly condition: string;
};

export function EmailLinkForm({ requestLink, condition }: Props) {
  const [email, setEmail] = useState("");
  const request = useMutation({ mutationFn: () => requestLink(email.trim()) });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    request.mutate();
  };
  if (request.isSuccess)
    return (
      <Callout tone="good" title="Check your inbox">
        If {email} {condition}, you will receive an email with a link.
      </Callout>
    );
  return (
    <form onSubmit={submit} className="grid gap-4">
      <ErrorNote error={request.error} />
      <Field label="Email">
        <Input
          type="email"
          name="email"
          autoComplete="username"
          required
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
      </Field>
      <Button type="submit" variant="primary" busy={request.isPending}>
        Send link
      </Button>
    </form>
  );
}
