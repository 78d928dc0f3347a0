import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from "react";
import { ApiError } from "../../api/error.ts";
import type { Me } from "../../api/me.ts";
import { giveCode, signInByPasskey, signInByPassword } from "../../api/people.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { CodeInput } from "../sign-in/code-step.tsx";
import { passkeyError } from "../sign-in/ways.tsx";

type Run = <T>(work: () => Promise<T>) => Promise<T>;
const FreshContext = createContext<Run>((work) => work());

/** Runs what only a recent sign-in may do: when it is too long ago, asks to prove oneself and runs it again. */
export function useFresh(): Run {
  return useContext(FreshContext);
}

type Waiting = { readonly again: () => void; readonly giveUp: () => void };

export function FreshProvider({ me, children }: { readonly me: Me; readonly children: ReactNode }) {
  const [isOpen, setIsOpen] = useState(false);
  const waiting = useRef<Waiting | null>(null);
  const prove = useCallback(
    () =>
      new Promise<void>((resolve, reject) => {
        const giveUp = () => reject(new ApiError({ status: 0, code: "cancelled", message: "Nothing was changed." }));
        waiting.current = { again: resolve, giveUp };
        setIsOpen(true);
      }),
    [],
  );
  const run: Run = useCallback(
    async (work) => {
      try {
        return await work();
      } catch (thrown) {
        if (!(thrown instanceof ApiError) || thrown.code !== "fresh_sign_in_needed") throw thrown;
        await prove();
        return work();
      }
    },
    [prove],
  );
  const end = (how: keyof Waiting) => {
    setIsOpen(false);
    waiting.current?.[how]();
    waiting.current = null;
  };
  const value = useMemo(() => run, [run]);
  return (
    <FreshContext value={value}>
      {children}
      {isOpen && <Prove me={me} onDone={() => end("again")} onClose={() => end("giveUp")} />}
    </FreshContext>
  );
}

type ProveProps = { readonly me: Me; readonly onDone: () => void; readonly onClose: () => void };

function Prove({ me, onDone, onClose }: ProveProps) {
  const [step, setStep] = useState<"password" | "code">("password");
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setIsBusy] = useState(false);
  const attempt = (work: () => Promise<{ twoFactorRedirect?: boolean } | unknown>) => {
    setIsBusy(true);
    setError(null);
    work()
      .then((answer) => {
        if (typeof answer !== "object" || answer === null || !("twoFactorRedirect" in answer)) return onDone();
        setTyped("");
        setStep("code");
      })
      .catch((thrown) => setError(passkeyError(thrown)))
      .finally(() => setIsBusy(false));
  };
  const submit = () =>
    attempt(() => (step === "password" ? signInByPassword(me.email, typed) : giveCode("app", typed)));
  const footer = (
    <>
      {me.passkeys > 0 && (
        <Button icon="fingerprint" onClick={() => attempt(signInByPasskey)} disabled={isBusy}>
          Use a passkey
        </Button>
      )}
      <Button type="submit" look="primary" busy={isBusy}>
        Go on
      </Button>
    </>
  );
  return (
    <FormDialog open onClose={onClose} title="Is it still you?" size="small" footer={footer} onSubmit={submit}>
      <p className="text-soft">
        You signed in a while ago. Prove once more that it is you, before a way to sign in is changed.
      </p>
      <ErrorNote error={error} />
      {step === "password" ? (
        <Field label="Your password">
          <Input
            type="password"
            autoComplete="current-password"
            required
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </Field>
      ) : (
        <Field label="Code" hint="Six digits from your authenticator app.">
          <CodeInput value={typed} onChange={setTyped} />
        </Field>
      )}
    </FormDialog>
  );
}
