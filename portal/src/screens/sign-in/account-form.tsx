import { type ReactNode, type SyntheticEvent, useState } from "react";
import { type ApiError, apiErrorOf } from "../../api/error.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { NewPasswordField } from "./password-fields.tsx";

export type NewAccount = { readonly name: string; readonly email: string; readonly password: string };

type Props = {
  /** A fixed email; absent: the form asks for one. */
  readonly email?: string | undefined;
  readonly action: string;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onSubmit: (account: NewAccount) => void;
  readonly children?: ReactNode;
};

/** Shared by set-up, invitation and sign-up. */
export function AccountForm({ email: fixedEmail, action, busy, error, onSubmit, children }: Props) {
  const [name, setName] = useState("");
  const [email, setEmail] = useState(fixedEmail ?? "");
  const [password, setPassword] = useState("");
  const apiError = error === null || error === undefined ? undefined : apiErrorOf(error);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onSubmit({ name: name.trim(), email: email.trim(), password });
  };
  return (
    <form onSubmit={submit} className="grid gap-4">
      {apiError !== undefined && !isFieldError(apiError) && <ErrorNote error={apiError} />}
      <Field label="Name" error={fieldError(apiError, "name")}>
        <Input
          name="name"
          autoComplete="name"
          required
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <Field label="Email" error={fieldError(apiError, "email")}>
        <Input
          type="email"
          name="email"
          autoComplete="username"
          required
          readOnly={fixedEmail !== undefined}
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          className={fixedEmail === undefined ? undefined : "bg-sunken"}
        />
      </Field>
      <NewPasswordField value={password} onChange={setPassword} error={fieldError(apiError, "password")} />
      {children}
      <Button type="submit" variant="primary" busy={busy}>
        {action}
      </Button>
    </form>
  );
}

const FIELDS = ["name", "email", "password", "newPassword"];

function isFieldError({ param }: ApiError): boolean {
  return param !== null && FIELDS.includes(param);
}

function fieldError(error: ApiError | undefined, param: string): string | undefined {
  return error?.param === param ? error.message : undefined;
}
