import { type ReactNode, type SyntheticEvent, useState } from "react";
import { type ApiError, apiErrorOf } from "../../api/error.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { NewPassword } from "./passwords.tsx";

export type NewAccount = { readonly name: string; readonly email: string; readonly password: string };

type Props = {
  /** Given and fixed; absent: it is asked for. */
  readonly email?: string | undefined;
  readonly action: string;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onSubmit: (account: NewAccount) => void;
  readonly children?: ReactNode;
};

/** Name, address and password of a new account: set-up, invitation and sign-up share it. */
export function AccountForm({ email: fixed, action, busy, error, onSubmit, children }: Props) {
  const [name, setName] = useState("");
  const [email, setEmail] = useState(fixed ?? "");
  const [password, setPassword] = useState("");
  const said = error === null || error === undefined ? undefined : apiErrorOf(error);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onSubmit({ name: name.trim(), email: email.trim(), password });
  };
  return (
    <form onSubmit={submit} className="grid gap-4">
      {said !== undefined && !isField(said) && <ErrorNote error={said} />}
      <Field label="Your name" error={at(said, "name")}>
        <Input
          name="name"
          autoComplete="name"
          required
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <Field label="E-mail address" error={at(said, "email")}>
        <Input
          type="email"
          name="email"
          autoComplete="username"
          required
          readOnly={fixed !== undefined}
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          className={fixed === undefined ? undefined : "bg-sunken"}
        />
      </Field>
      <NewPassword value={password} onChange={setPassword} error={at(said, "password")} />
      {children}
      <Button type="submit" look="primary" busy={busy}>
        {action}
      </Button>
    </form>
  );
}

const FIELDS = ["name", "email", "password", "newPassword"];

function isField({ param }: ApiError): boolean {
  return param !== null && FIELDS.includes(param);
}

function at(error: ApiError | undefined, param: string): string | undefined {
  return error?.param === param ? error.message : undefined;
}
