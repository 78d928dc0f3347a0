import { useMutation } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { apiErrorOf } from "../../api/error.ts";
import { verifySecondFactor } from "../../api/people.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Checkbox, Field, Input } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";

/** The six digits of the app, or a backup code when the app is not at hand. */
export function CodeStep({ onDone, onBack }: { readonly onDone: () => Promise<void>; readonly onBack: () => void }) {
  const [kind, setKind] = useState<"app" | "backup">("app");
  const [code, setCode] = useState("");
  const [isTrusted, setIsTrusted] = useState(false);
  const give = useMutation({
    mutationFn: () => verifySecondFactor(kind, code, isTrusted),
    onSuccess: onDone,
    onError: (thrown) => {
      const { code: why, message } = apiErrorOf(thrown);
      if (why !== "not_signed_in") return;
      // The password was too long ago: it has to come first again.
      toast(message, "bad");
      onBack();
    },
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    give.mutate();
  };
  const swap = () => {
    setKind(kind === "app" ? "backup" : "app");
    setCode("");
    give.reset();
  };
  return (
    <form onSubmit={submit} className="grid gap-4">
      <ErrorNote error={give.error} />
      {kind === "app" ? (
        <Field label="Code" hint="Six digits from your authenticator app.">
          <CodeInput value={code} onChange={setCode} />
        </Field>
      ) : (
        <Field label="Backup code" hint="Each of them works once.">
          <Input
            mono
            autoFocus
            required
            autoComplete="off"
            spellCheck={false}
            value={code}
            onChange={(event) => setCode(event.target.value)}
          />
        </Field>
      )}
      {kind === "app" && (
        <Checkbox label="Do not ask on this device for 30 days" checked={isTrusted} onChange={setIsTrusted} />
      )}
      <Button type="submit" look="primary" busy={give.isPending}>
        Go on
      </Button>
      <div className="flex justify-between">
        <Button look="quiet" size="small" onClick={onBack} icon="left">
          Back
        </Button>
        <Button look="quiet" size="small" onClick={swap}>
          {kind === "app" ? "Use a backup code" : "Use the app"}
        </Button>
      </div>
    </form>
  );
}

/** Six digits; phones offer the code by themselves. */
export function CodeInput({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  return (
    <Input
      mono
      autoFocus
      required
      inputMode="numeric"
      autoComplete="one-time-code"
      pattern="[0-9 ]{6,7}"
      maxLength={7}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className="text-center text-lg tracking-[0.4em]"
    />
  );
}
