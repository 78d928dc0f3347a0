import { useState } from "react";
import { useWorkspace } from "../../address.ts";
import { useChange } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Checkbox, Field, Textarea } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { USES, type Use } from "./rows.ts";
import { UseChoice } from "./use-choice.tsx";

const HINTS: Readonly<Record<string, string>> = {
  "aws-bedrock": 'A bearer key, or a key pair as JSON: {"access_key_id": "…", "secret_access_key": "…"}.',
  "google-vertex": "The JSON file of a service account, as a whole.",
};

/** Takes a key, and never shows one: the field is empty again once it is sent. */
export function KeyForm({
  provider,
  name,
  use: usual,
  done,
}: {
  readonly provider: string;
  readonly name: string;
  readonly use: Use;
  readonly done?: (() => void) | undefined;
}) {
  const { workspace } = useWorkspace();
  const [key, setKey] = useState("");
  const [use, setUse] = useState<Use>(usual);
  const [isUntested, setIsUntested] = useState(false);
  const put = useChange("managePutOwnKey", {
    done: ({ result }) => {
      setKey("");
      toast(result === "accepted" ? `${name} accepts the key. It is used from now on.` : "The key is kept untested.");
      done?.();
    },
  });
  const isWrongKey = put.error?.param === "key";
  const send = () =>
    put.mutate({
      params: { workspace, provider },
      body: { key: key.trim(), use, ...(isUntested ? { skip_test: true } : {}) },
    });
  return (
    <form
      className="grid gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (key.trim() !== "") send();
      }}
    >
      <Field
        label="Key"
        hint={HINTS[provider] ?? `As ${name} shows it. It is sealed here and never shown again.`}
        error={isWrongKey ? put.error?.message : undefined}
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
      <UseChoice value={use} onChange={setUse} options={USES} />
      <Checkbox
        label="Keep it without asking the provider"
        hint="Otherwise the provider is asked first, and what it does not accept is not kept."
        checked={isUntested}
        onChange={setIsUntested}
      />
      {!isWrongKey && <ErrorNote error={put.error} />}
      <Button
        type="submit"
        look="primary"
        icon="lock"
        busy={put.isPending}
        disabled={key.trim() === ""}
        className="justify-self-start"
      >
        {isUntested ? "Connect untested" : "Test and connect"}
      </Button>
    </form>
  );
}
