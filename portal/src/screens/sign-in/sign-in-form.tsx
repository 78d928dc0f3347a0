import { useMutation } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { ApiError, apiErrorOf } from "../../api/error.ts";
import type { SignInMethods } from "../../api/me.ts";
import { signInByOidc, signInByPasskey, signInByPassword } from "../../api/people.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Link } from "../../ui/link.tsx";
import { Or } from "./auth-card.tsx";
import { CurrentPasswordField } from "./password-fields.tsx";

type Props = {
  readonly methods: SignInMethods;
  readonly next: string;
  /** The error code of a failed single sign-on. */
  readonly ssoError: string;
  readonly onDone: () => Promise<void>;
  readonly onCode: () => void;
};

export function SignInForm({ methods, next, ssoError, onDone, onCode }: Props) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const byPassword = useMutation({
    mutationFn: () => signInByPassword(email.trim(), password),
    onSuccess: (result) => (result.twoFactorRedirect === true ? onCode() : onDone()),
  });
  const byPasskey = useMutation({ mutationFn: signInByPasskey, onSuccess: onDone });
  const byOidc = useMutation({ mutationFn: () => signInByOidc(next) });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    byPassword.mutate();
  };
  const isSubmitted = [byPassword, byOidc, byPasskey].some(({ submittedAt }) => submittedAt > 0);
  const error = isSubmitted ? lastError(byPassword, byOidc, byPasskey) : ssoErrorOf(ssoError);
  return (
    <>
      <ErrorNote error={error} />
      {methods.oidc !== null && (
        <>
          <Button
            variant={methods.password ? "plain" : "primary"}
            onClick={() => byOidc.mutate()}
            busy={byOidc.isPending}
            icon="out"
          >
            Continue with {methods.oidc.name}
          </Button>
          <Or />
        </>
      )}
      <form onSubmit={submit} className="grid gap-4">
        <Field label="Email">
          <Input
            type="email"
            name="email"
            autoComplete="username webauthn"
            required
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
        </Field>
        <CurrentPasswordField label="Password" value={password} onChange={setPassword} />
        <Button type="submit" variant="primary" busy={byPassword.isPending}>
          Sign in
        </Button>
      </form>
      {methods.mail && (
        <p className="-mt-1 text-center">
          <Link to="/app/forgot-password">Forgot password?</Link>
        </p>
      )}
      {methods.passkey && (
        <>
          <Or />
          <Button icon="fingerprint" onClick={() => byPasskey.mutate()} busy={byPasskey.isPending}>
            Sign in with passkey
          </Button>
        </>
      )}
    </>
  );
}

type SubmittedMethod = { readonly submittedAt: number; readonly error: Error | null };

/** The error of the last submitted sign-in method. */
export function lastError(...methods: readonly [SubmittedMethod, ...SubmittedMethod[]]): ApiError | null {
  return passkeyError(methods.reduce((last, method) => (method.submittedAt > last.submittedAt ? method : last)).error);
}

/** Replaces the browser's unhelpful cancellation message. */
export function passkeyError(thrown: unknown): ApiError | null {
  if (thrown === null || thrown === undefined) return null;
  if (thrown instanceof ApiError) return thrown;
  const isCancelled = thrown instanceof Error && (thrown.name === "NotAllowedError" || thrown.name === "AbortError");
  const message = isCancelled
    ? "The passkey request was cancelled or timed out. Try again or use another sign-in method."
    : `Passkey sign-in failed: ${apiErrorOf(thrown).message}`;
  return new ApiError({ status: 0, code: "passkey", message });
}

const SSO_ERRORS: Readonly<Record<string, string>> = {
  email_not_verified: "Your identity provider has not verified your email. Verify it there, then try again.",
  signup_disabled: "There is no account for your email. Ask a workspace owner for an invitation.",
  account_not_linked: "An account with your email already exists. Sign in with the method you used before.",
  access_denied: "The identity provider denied access or the sign-in was cancelled. Try again.",
  state_mismatch: "The sign-in timed out or was started in another window. Try again.",
};

function ssoErrorOf(code: string): ApiError | null {
  if (code === "") return null;
  const message =
    SSO_ERRORS[code] ?? "Single sign-on failed. Try again. If the problem persists, contact the gateway operator.";
  return new ApiError({ status: 0, code: "single_sign_on", message });
}
