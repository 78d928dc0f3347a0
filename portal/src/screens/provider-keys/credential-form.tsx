import { type ReactNode, useState } from "react";
import type { ApiError } from "../../api/error.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Checkbox, Field, Textarea } from "../../ui/field.tsx";

const HINTS: Readonly<Record<string, string>> = {
  "aws-bedrock": 'A bearer key or a key pair as JSON: {"access_key_id": "…", "secret_access_key": "…"}.',
  "google-vertex": "The complete JSON file of a service account.",
};

export type CredentialInput = { readonly key: string; readonly skip_test?: true };

type Props = {
  readonly provider: string;
  readonly name: string;
  readonly error: ApiError | null;
  readonly busy: boolean;
  readonly send: (credential: CredentialInput) => Promise<unknown>;
  /** Additional fields below the key. */
  readonly children?: ReactNode | undefined;
};

/** The field is cleared once the key is stored. */
export function CredentialForm({ provider, name, error, busy, send, children }: Props) {
  const [key, setKey] = useState("");
  const [skipsTest, setSkipsTest] = useState(false);
  const isKeyError = error?.param === "key";
  const submit = () =>
    send({ key: key.trim(), ...(skipsTest ? { skip_test: true } : {}) }).then(
      () => setKey(""),
      // The error is shown through `error`.
      () => undefined,
    );
  return (
    <form
      className="grid gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (key.trim() !== "") void submit();
      }}
    >
      <Field
        label="Key"
        hint={HINTS[provider] ?? `The API key from ${name}. It is stored encrypted and never shown again.`}
        error={isKeyError ? error.message : undefined}
      >
        <Textarea
          mono
          rows={2}
          value={key}
          onChange={(event) => setKey(event.target.value)}
          autoComplete="off"
          spellCheck={false}
          placeholder="Paste the key"
        />
      </Field>
      {children}
      <Checkbox
        label="Skip test"
        hint="By default, the key is tested with the provider first and only stored if accepted."
        checked={skipsTest}
        onChange={setSkipsTest}
      />
      {!isKeyError && <ErrorNote error={error} />}
      <Button
        type="submit"
        variant="primary"
        icon="lock"
        busy={busy}
        disabled={key.trim() === ""}
        className="justify-self-start"
      >
        {skipsTest ? "Connect without test" : "Test and connect"}
      </Button>
    </form>
  );
}
