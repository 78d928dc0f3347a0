import { type ReactNode, useState } from "react";
import type { ApiError } from "../../api/error.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Checkbox, Field, Textarea } from "../../ui/field.tsx";

const HINTS: Readonly<Record<string, string>> = {
  "aws-bedrock": 'A bearer key, or a key pair as JSON: {"access_key_id": "…", "secret_access_key": "…"}.',
  "google-vertex": "The JSON file of a service account, as a whole.",
};

export type Given = { readonly key: string; readonly skip_test?: true };

type Props = {
  readonly provider: string;
  readonly name: string;
  readonly error: ApiError | null;
  readonly busy: boolean;
  readonly send: (given: Given) => Promise<unknown>;
  /** What else is asked, behind the key. */
  readonly children?: ReactNode | undefined;
};

/** Takes a key, and never shows one: the field is empty again once the gateway has it. */
export function CredentialForm({ provider, name, error, busy, send, children }: Props) {
  const [key, setKey] = useState("");
  const [isUntested, setIsUntested] = useState(false);
  const isWrongKey = error?.param === "key";
  const submit = () =>
    send({ key: key.trim(), ...(isUntested ? { skip_test: true } : {}) }).then(
      () => setKey(""),
      // What was wrong stands in `error`.
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
        hint={HINTS[provider] ?? `As ${name} shows it. It is sealed here and never shown again.`}
        error={isWrongKey ? error.message : undefined}
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
        label="Keep it without asking the provider"
        hint="Otherwise the provider is asked first, and what it does not accept is not kept."
        checked={isUntested}
        onChange={setIsUntested}
      />
      {!isWrongKey && <ErrorNote error={error} />}
      <Button
        type="submit"
        look="primary"
        icon="lock"
        busy={busy}
        disabled={key.trim() === ""}
        className="justify-self-start"
      >
        {isUntested ? "Connect untested" : "Test and connect"}
      </Button>
    </form>
  );
}
