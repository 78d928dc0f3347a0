import { useMutation } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { apiErrorOf } from "../../api/error.ts";
import { verifySecondFactor } from "../../api/people.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Checkbox, Field, Input } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";

/** Second factor: authenticator code or backup code. */
export function CodeStep({ onDone, onBack }: { readonly onDone: () => Promise<void>; readonly onBack: () => void }) {
  const [kind, setKind] = useState<"app" | "backup">("app");
  const [code, setCode] = useState("");
  const [isTrusted, setIsTrusted] = useState(false);
  const verify = useMutation({
    mutationFn: () => verifySecondFactor(kind, code, isTrusted),
    onSuccess: onDone,
    onError: (thrown) => {
      const { code: errorCode, message } = apiErrorOf(thrown);
      if (errorCode !== "not_signed_in") return;
      // The password step has expired and must be repeated.
      toast(message, "bad");
      onBack();
    },
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    verify.mutate();
  };
  const switchKind = () => {
    setKind(kind === "app" ? "backup" : "app");
    setCode("");
    verify.reset();
  };
  return (
    <form onSubmit={submit} className="grid gap-4">
      <ErrorNote error={verify.error} />
      {kind === "app" ? (
        <Field label="Code" hint="Enter the six-digit code from your authenticator app.">
          <CodeInput value={code} onChange={setCode} />
        </Field>
      ) : (
        <Field label="Backup code" hint="Each backup code works once.">
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
      {kind === "app" && <Checkbox label="Trust this device for 30 days" checked={isTrusted} onChange={setIsTrusted} />}
      <Button type="submit" variant="primary" busy={verify.isPending}>
        Continue
      </Button>
      <div className="flex justify-between">
        <Button variant="quiet" size="small" onClick={onBack} icon="left">
          Back
        </Button>
        <Button variant="quiet" size="small" onClick={switchKind}>
          {kind === "app" ? "Use backup code" : "Use authenticator app"}
        </Button>
      </div>
    </form>
  );
}

/** Supports one-time-code autofill. */
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
