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
import { OwnPassword } from "./passwords.tsx";

type Props = {
  readonly ways: SignInMethods;
  readonly next: string;
  /** What single sign-on came back with. */
  readonly ssoError: string;
  readonly onDone: () => Promise<void>;
  readonly onCode: () => void;
};

export function Ways({ ways, next, ssoError, onDone, onCode }: Props) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const byPassword = useMutation({
    mutationFn: () => signInByPassword(email.trim(), password),
    onSuccess: (answer) => (answer.twoFactorRedirect === true ? onCode() : onDone()),
  });
  const byPasskey = useMutation({ mutationFn: signInByPasskey, onSuccess: onDone });
  const byOidc = useMutation({ mutationFn: () => signInByOidc(next) });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    byPassword.mutate();
  };
  const isTried = [byPassword, byOidc, byPasskey].some(({ submittedAt }) => submittedAt > 0);
  const error = isTried ? lastError(byPassword, byOidc, byPasskey) : ssoErrorOf(ssoError);
  return (
    <>
      <ErrorNote error={error} />
      {ways.oidc !== null && (
        <>
          <Button
            look={ways.password ? "plain" : "primary"}
            onClick={() => byOidc.mutate()}
            busy={byOidc.isPending}
            icon="out"
          >
            Continue with {ways.oidc.name}
          </Button>
          <Or />
        </>
      )}
      <form onSubmit={submit} className="grid gap-4">
        <Field label="E-mail address">
          <Input
            type="email"
            name="email"
            autoComplete="username webauthn"
            required
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
        </Field>
        <OwnPassword label="Password" value={password} onChange={setPassword} />
        <Button type="submit" look="primary" busy={byPassword.isPending}>
          Sign in
        </Button>
      </form>
      {ways.mail && (
        <p className="-mt-1 text-center">
          <Link to="/app/forgot-password">Forgotten your password?</Link>
        </p>
      )}
      {ways.passkey && (
        <>
          <Or />
          <Button icon="fingerprint" onClick={() => byPasskey.mutate()} busy={byPasskey.isPending}>
            Use a passkey
          </Button>
        </>
      )}
    </>
  );
}

type Tried = { readonly submittedAt: number; readonly error: Error | null };

/** Of ways that can be tried one after another, what the last one came back with. */
export function lastError(...ways: readonly [Tried, ...Tried[]]): ApiError | null {
  return passkeyError(ways.reduce((last, way) => (way.submittedAt > last.submittedAt ? way : last)).error);
}

/** The browser's own words for "cancelled" help nobody. */
export function passkeyError(thrown: unknown): ApiError | null {
  if (thrown === null || thrown === undefined) return null;
  if (thrown instanceof ApiError) return thrown;
  const isCancelled = thrown instanceof Error && (thrown.name === "NotAllowedError" || thrown.name === "AbortError");
  const message = isCancelled
    ? "The passkey was not used: it was cancelled, or took too long. Try again, or sign in another way."
    : `The passkey could not be used: ${apiErrorOf(thrown).message}`;
  return new ApiError({ status: 0, code: "passkey", message });
}

const SSO_ERRORS: Readonly<Record<string, string>> = {
  email_not_verified:
    "Your identity provider has not verified your e-mail address. Have it verified there, then try again.",
  signup_disabled: "There is no account for your address here. Ask an owner of the workspace to invite you.",
  account_not_linked: "An account with your address exists already. Sign in the way you did before.",
  access_denied: "The identity provider did not let you in, or you cancelled. Try again.",
  state_mismatch: "Signing in took too long or was started in another window. Try again.",
};

function ssoErrorOf(code: string): ApiError | null {
  if (code === "") return null;
  const message =
    SSO_ERRORS[code] ?? "Single sign-on failed. Try again; if it stays, tell the operator of the gateway.";
  return new ApiError({ status: 0, code: "single_sign_on", message });
}
