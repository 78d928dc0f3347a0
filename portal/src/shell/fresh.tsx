import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useCallback, useState } from "react";
import { useCurrentPath } from "../address.ts";
import { ApiError } from "../api/error.ts";
import { ReauthenticationContext, type RunReauthenticated, retryAfterReauthentication } from "../api/fresh.ts";
import { fetchMe, type Me, useSignInMethods } from "../api/me.ts";
import { reauthenticateByPassword, signInByOidc, signInByPasskey } from "../api/people.ts";
import { CodeStep } from "../screens/sign-in/code-step.tsx";
import { OwnPassword } from "../screens/sign-in/passwords.tsx";
import { lastError } from "../screens/sign-in/ways.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog, FormDialog } from "../ui/dialog.tsx";
import { ErrorNote } from "../ui/error-state.tsx";
import { Proof } from "./proof.ts";

/** Around the screens of whoever is signed in: asks whether it is still them. */
export function FreshProvider({ me, children }: { readonly me: Me; readonly children: ReactNode }) {
  const [isOpen, setIsOpen] = useState(false);
  const [proof] = useState(() => new Proof());
  const run: RunReauthenticated = useCallback(
    (work) =>
      retryAfterReauthentication(work, () => {
        setIsOpen(true);
        return proof.ask();
      }),
    [proof],
  );
  const end = (how: "again" | "giveUp") => {
    setIsOpen(false);
    proof.end(how);
  };
  return (
    <ReauthenticationContext value={run}>
      {children}
      {isOpen && <Prove me={me} onDone={() => end("again")} onClose={() => end("giveUp")} />}
    </ReauthenticationContext>
  );
}

type ProveProps = { readonly me: Me; readonly onDone: () => void; readonly onClose: () => void };

const TITLE = "Is it still you?";

/** By what the person signs in with: password and code, a passkey, or the identity provider. */
function Prove({ me, onDone, onClose }: ProveProps) {
  const [step, setStep] = useState<"ways" | "code">("ways");
  if (step === "code")
    return (
      <Dialog open onClose={onClose} title={TITLE} size="small">
        <CodeStep onDone={async () => onDone()} onBack={() => setStep("ways")} />
      </Dialog>
    );
  return me.has_password ? (
    <ByPassword me={me} onDone={onDone} onClose={onClose} onCode={() => setStep("code")} />
  ) : (
    <WithoutPassword me={me} onDone={onDone} onClose={onClose} />
  );
}

function ByPassword({ me, onDone, onClose, onCode }: ProveProps & { readonly onCode: () => void }) {
  const [password, setPassword] = useState("");
  const give = useMutation({
    mutationFn: () => reauthenticateByPassword(me.email, password),
    onSuccess: ({ twoFactorRedirect }) => (twoFactorRedirect === true ? onCode() : onDone()),
  });
  const others = useOtherWays(me, onDone);
  return (
    <FormDialog
      open
      onClose={onClose}
      title={TITLE}
      size="small"
      action="Go on"
      busy={give.isPending}
      otherwise={others.are === "none" ? undefined : <OtherWays others={others} oidcLook="plain" />}
      onSubmit={give.mutate}
    >
      <Why />
      <ErrorNote error={lastError(give, others.byOidc, others.byPasskey)} />
      <OwnPassword value={password} onChange={setPassword} />
      <LeadsBack others={others} />
    </FormDialog>
  );
}

function WithoutPassword({ me, onDone, onClose }: ProveProps) {
  const others = useOtherWays(me, onDone);
  return (
    <Dialog open onClose={onClose} title={TITLE} size="small" footer={<OtherWays others={others} oidcLook="primary" />}>
      <Why />
      <ErrorNote error={lastError(others.byOidc, others.byPasskey)} />
      <LeadsBack others={others} />
      {others.are === "none" && (
        <p className="text-soft">You have no password and no passkey here. Sign out, and sign in again first.</p>
      )}
    </Dialog>
  );
}

type Others = ReturnType<typeof useOtherWays>;

/** What there is beside a password. */
function useOtherWays(me: Me, onDone: () => void) {
  const oidc = useSignInMethods().data?.oidc ?? null;
  const here = useCurrentPath();
  const byPasskey = useMutation({ mutationFn: () => proveByPasskey(me), onSuccess: onDone });
  const byOidc = useMutation({ mutationFn: () => signInByOidc(here) });
  const hasPasskey = me.passkeys > 0;
  const are = hasPasskey || oidc !== null ? "some" : "none";
  return { are, hasPasskey, oidc, byPasskey, byOidc } as const;
}

function OtherWays({ others, oidcLook }: { readonly others: Others; readonly oidcLook: "plain" | "primary" }) {
  const { hasPasskey, oidc, byPasskey, byOidc } = others;
  return (
    <>
      {hasPasskey && (
        <Button icon="fingerprint" onClick={() => byPasskey.mutate()} busy={byPasskey.isPending}>
          Use a passkey
        </Button>
      )}
      {oidc !== null && (
        <Button look={oidcLook} icon="out" onClick={() => byOidc.mutate()} busy={byOidc.isPending}>
          Continue with {oidc.name}
        </Button>
      )}
    </>
  );
}

/** Who comes by single sign-on leaves this page for it, and what they were about to do with it. */
function LeadsBack({ others: { oidc } }: { readonly others: Others }) {
  return (
    oidc && (
      <p className="text-soft">
        If you continue with {oidc.name}, it leads you back to this page. Then do it once more.
      </p>
    )
  );
}

/** The device may offer the passkey of another account: then it is another who is signed in from now on. */
async function proveByPasskey(me: Me): Promise<void> {
  await signInByPasskey();
  const { person } = await fetchMe();
  if (person?.id === me.id) return;
  location.assign("/app/account");
  throw new ApiError({
    status: 0,
    code: "cancelled",
    message: "This passkey is of another account. Nothing was changed.",
  });
}

function Why() {
  return (
    <p className="text-soft">
      You signed in a while ago. Prove once more that it is you: this decides who can sign in here, and what they may
      do.
    </p>
  );
}
