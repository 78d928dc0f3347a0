import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useCallback, useState } from "react";
import { ApiError } from "../api/error.ts";
import { fetchMe, type Me, useSignInMethods } from "../api/me.ts";
import { reauthenticateByPassword, signInByOidc, signInByPasskey } from "../api/people.ts";
import {
  ReauthenticationContext,
  type RunReauthenticated,
  retryAfterReauthentication,
} from "../api/reauthentication.ts";
import { CodeStep } from "../screens/sign-in/code-step.tsx";
import { CurrentPasswordField } from "../screens/sign-in/password-fields.tsx";
import { lastError } from "../screens/sign-in/sign-in-form.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog, FormDialog } from "../ui/dialog.tsx";
import { ErrorNote } from "../ui/error-state.tsx";
import { useCurrentPath } from "../url-state.ts";
import { PendingReauthentication } from "./pending-reauthentication.ts";

/** Provides the reauthentication dialog to screens. */
export function ReauthenticationProvider({ me, children }: { readonly me: Me; readonly children: ReactNode }) {
  const [isOpen, setIsOpen] = useState(false);
  const [pending] = useState(() => new PendingReauthentication());
  const run: RunReauthenticated = useCallback(
    (work) =>
      retryAfterReauthentication(work, () => {
        setIsOpen(true);
        return pending.request();
      }),
    [pending],
  );
  const finish = (outcome: "confirm" | "cancel") => {
    setIsOpen(false);
    pending.finish(outcome);
  };
  return (
    <ReauthenticationContext value={run}>
      {children}
      {isOpen && <ReauthenticationDialog me={me} onDone={() => finish("confirm")} onClose={() => finish("cancel")} />}
    </ReauthenticationContext>
  );
}

type DialogProps = { readonly me: Me; readonly onDone: () => void; readonly onClose: () => void };

const TITLE = "Confirm your identity";

/** Password and second factor, a passkey, or the identity provider. */
function ReauthenticationDialog({ me, onDone, onClose }: DialogProps) {
  const [step, setStep] = useState<"methods" | "code">("methods");
  if (step === "code")
    return (
      <Dialog open onClose={onClose} title={TITLE} size="small">
        <CodeStep onDone={async () => onDone()} onBack={() => setStep("methods")} />
      </Dialog>
    );
  return me.has_password ? (
    <ByPassword me={me} onDone={onDone} onClose={onClose} onCode={() => setStep("code")} />
  ) : (
    <WithoutPassword me={me} onDone={onDone} onClose={onClose} />
  );
}

function ByPassword({ me, onDone, onClose, onCode }: DialogProps & { readonly onCode: () => void }) {
  const [password, setPassword] = useState("");
  const verify = useMutation({
    mutationFn: () => reauthenticateByPassword(me.email, password),
    onSuccess: ({ twoFactorRedirect }) => (twoFactorRedirect === true ? onCode() : onDone()),
  });
  const alternatives = useAlternatives(me, onDone);
  return (
    <FormDialog
      open
      onClose={onClose}
      title={TITLE}
      size="small"
      action="Continue"
      busy={verify.isPending}
      secondaryActions={
        alternatives.count === "none" ? undefined : (
          <AlternativeButtons alternatives={alternatives} oidcVariant="plain" />
        )
      }
      onSubmit={verify.mutate}
    >
      <ReauthenticationReason />
      <ErrorNote error={lastError(verify, alternatives.byOidc, alternatives.byPasskey)} />
      <CurrentPasswordField value={password} onChange={setPassword} />
      <RedirectNotice alternatives={alternatives} />
    </FormDialog>
  );
}

function WithoutPassword({ me, onDone, onClose }: DialogProps) {
  const alternatives = useAlternatives(me, onDone);
  return (
    <Dialog
      open
      onClose={onClose}
      title={TITLE}
      size="small"
      footer={<AlternativeButtons alternatives={alternatives} oidcVariant="primary" />}
    >
      <ReauthenticationReason />
      <ErrorNote error={lastError(alternatives.byOidc, alternatives.byPasskey)} />
      <RedirectNotice alternatives={alternatives} />
      {alternatives.count === "none" && (
        <p className="text-soft">You have no password and no passkey. Sign out and sign in again.</p>
      )}
    </Dialog>
  );
}

type Alternatives = ReturnType<typeof useAlternatives>;

/** Alternatives to the password. */
function useAlternatives(me: Me, onDone: () => void) {
  const oidc = useSignInMethods().data?.oidc ?? null;
  const currentPath = useCurrentPath();
  const byPasskey = useMutation({ mutationFn: () => reauthenticateByPasskey(me), onSuccess: onDone });
  const byOidc = useMutation({ mutationFn: () => signInByOidc(currentPath) });
  const hasPasskey = me.passkeys > 0;
  const count = hasPasskey || oidc !== null ? "some" : "none";
  return { count, hasPasskey, oidc, byPasskey, byOidc } as const;
}

function AlternativeButtons({
  alternatives,
  oidcVariant,
}: {
  readonly alternatives: Alternatives;
  readonly oidcVariant: "plain" | "primary";
}) {
  const { hasPasskey, oidc, byPasskey, byOidc } = alternatives;
  return (
    <>
      {hasPasskey && (
        <Button icon="fingerprint" onClick={() => byPasskey.mutate()} busy={byPasskey.isPending}>
          Use passkey
        </Button>
      )}
      {oidc !== null && (
        <Button variant={oidcVariant} icon="out" onClick={() => byOidc.mutate()} busy={byOidc.isPending}>
          Continue with {oidc.name}
        </Button>
      )}
    </>
  );
}

/** Single sign-on leaves the page, so the action must be repeated. */
function RedirectNotice({ alternatives: { oidc } }: { readonly alternatives: Alternatives }) {
  return oidc && <p className="text-soft">{oidc.name} redirects you back to this page. Then repeat the action.</p>;
}

/** A passkey of another account would switch the session to that account. */
async function reauthenticateByPasskey(me: Me): Promise<void> {
  await signInByPasskey();
  const { person } = await fetchMe();
  if (person?.id === me.id) return;
  location.assign("/app/account");
  throw new ApiError({
    status: 0,
    code: "cancelled",
    message: "This passkey belongs to another account. Nothing was changed.",
  });
}

function ReauthenticationReason() {
  return <p className="text-soft">This action affects account access. Confirm your identity to continue.</p>;
}
