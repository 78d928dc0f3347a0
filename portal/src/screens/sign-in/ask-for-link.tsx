import { useMutation } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Callout } from "../../ui/layout.tsx";

type Props = {
  readonly ask: (email: string) => Promise<unknown>;
  /** On what the mail depends: nobody learns here who has an account. */
  readonly provided: string;
};

/** An address that a link is mailed to. */
export function AskForLink({ ask, provided }: Props) {
  const [email, setEmail] = useState("");
  const asking = useMutation({ mutationFn: () => ask(email.trim()) });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    asking.mutate();
  };
  if (asking.isSuccess)
    return (
      <Callout tone="good" title="Look into your mail">
        If {email} {provided}, a link is on its way to it.
      </Callout>
    );
  return (
    <form onSubmit={submit} className="grid gap-4">
      <ErrorNote error={asking.error} />
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
      <Button type="submit" look="primary" busy={asking.isPending}>
        Send the link
      </Button>
    </form>
  );
}
