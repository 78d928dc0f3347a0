import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { Me } from "../../api/me.ts";
import { beginTotp, endTotp, newBackupCodes, reauthenticateByPassword, verifySecondFactor } from "../../api/people.ts";
import { retryAfterReauthentication, useReauthentication } from "../../api/reauthentication.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Dialog, FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field } from "../../ui/field.tsx";
import { Callout, Card } from "../../ui/layout.tsx";
import { toast } from "../../ui/toast.tsx";
import { CodeInput } from "../sign-in/code-step.tsx";
import { CurrentPasswordField } from "../sign-in/password-fields.tsx";
import { qrPath } from "./qr-path.ts";

type Step =
  | { readonly kind: "password"; readonly purpose: "on" | "off" | "codes" }
  | { readonly kind: "scan"; readonly uri: string; readonly codes: readonly string[] }
  | { readonly kind: "codes"; readonly codes: readonly string[] };

export function TwoFactor({ me }: { readonly me: Me }) {
  const [step, setStep] = useState<Step | null>(null);
  const client = useQueryClient();
  const close = () => {
    setStep(null);
    void client.invalidateQueries();
  };
  const begin = (purpose: "on" | "off" | "codes") => () => setStep({ kind: "password", purpose });
  const actions = me.two_factor ? (
    <>
      <Button onClick={begin("codes")}>Generate backup codes</Button>
      <Button variant="danger" onClick={begin("off")}>
        Turn off
      </Button>
    </>
  ) : (
    <Button onClick={begin("on")}>Turn on</Button>
  );
  const title = (
    <span className="flex items-center gap-2">
      Two-factor authentication {me.two_factor ? <Badge tone="good">On</Badge> : <Badge>Off</Badge>}
    </span>
  );
  return (
    <>
      <Card
        title={title}
        about="Requires a code from your authenticator app after your password."
        actions={me.has_password && actions}
      />
      {step?.kind === "password" && (
        <PasswordDialog email={me.email} purpose={step.purpose} onStep={setStep} onClose={close} />
      )}
      {step?.kind === "scan" && (
        <ScanDialog uri={step.uri} onDone={() => setStep({ kind: "codes", codes: step.codes })} onClose={close} />
      )}
      {step?.kind === "codes" && (
        <Dialog
          open
          onClose={close}
          title="Save your backup codes"
          footer={<Button onClick={close}>I saved them</Button>}
        >
          <BackupCodes codes={step.codes} />
        </Dialog>
      )}
    </>
  );
}

const TITLES = {
  on: "Turn on two-factor authentication",
  off: "Turn off two-factor authentication",
  codes: "Generate backup codes",
} as const;

function PasswordDialog({
  email,
  purpose,
  onStep,
  onClose,
}: {
  readonly email: string;
  readonly purpose: keyof typeof TITLES;
  readonly onStep: (step: Step) => void;
  readonly onClose: () => void;
}) {
  const runReauthenticated = useReauthentication();
  const [password, setPassword] = useState("");
  const turnOn = async () => {
    const { totpURI, backupCodes } = await beginTotp(password);
    onStep({ kind: "scan", uri: totpURI, codes: backupCodes });
  };
  const change = async () => {
    if (purpose === "codes") onStep({ kind: "codes", codes: (await newBackupCodes(password)).backupCodes });
    else {
      await endTotp(password);
      toast("Two-factor authentication is off");
      onClose();
    }
  };
  const submit = useMutation({
    // Without a second factor, the password just entered is enough to reauthenticate.
    mutationFn: () =>
      purpose === "on"
        ? retryAfterReauthentication(turnOn, () => reauthenticateByPassword(email, password))
        : runReauthenticated(change),
  });
  return (
    <FormDialog
      open
      onClose={onClose}
      title={TITLES[purpose]}
      size="small"
      action={purpose === "off" ? "Turn off" : "Continue"}
      busy={submit.isPending}
      danger={purpose === "off"}
      onSubmit={submit.mutate}
    >
      {purpose === "off" && <p className="text-soft">Your password alone is then enough to sign in to your account.</p>}
      {purpose === "codes" && <p className="text-soft">Your existing backup codes stop working.</p>}
      <ErrorNote error={submit.error} />
      <CurrentPasswordField value={password} onChange={setPassword} />
    </FormDialog>
  );
}

function ScanDialog({
  uri,
  onDone,
  onClose,
}: {
  readonly uri: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const [code, setCode] = useState("");
  const confirm = useMutation({
    mutationFn: () => verifySecondFactor("app", code),
    onSuccess: () => {
      toast("Two-factor authentication is on");
      onDone();
    },
  });
  return (
    <FormDialog
      open
      onClose={onClose}
      title="Scan the QR code"
      action="Turn on"
      busy={confirm.isPending}
      onSubmit={confirm.mutate}
    >
      <TotpKey uri={uri} />
      <ErrorNote error={confirm.error} />
      <Field label="Code" hint="Enter the six-digit code that your authenticator app shows.">
        <CodeInput value={code} onChange={setCode} />
      </Field>
    </FormDialog>
  );
}

/** One-time codes for signing in without the authenticator app; shown once. */
function BackupCodes({ codes }: { readonly codes: readonly string[] }) {
  return (
    <>
      <Callout tone="warn">
        These codes are shown once. Use one to sign in if you lose access to your authenticator app. Each code works
        once. Store them in a password manager.
      </Callout>
      <ul
        aria-label="Backup codes"
        className="grid grid-cols-2 gap-x-6 gap-y-1 rounded-md border bg-sunken px-5 py-4 font-mono"
      >
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <span className="flex gap-2">
        <CopyButton text={codes.join("\n")} label="Copy backup codes">
          Copy all
        </CopyButton>
      </span>
    </>
  );
}

/** The TOTP secret as QR code and text. The QR code is drawn in the browser, so the secret never leaves the page. */
function TotpKey({ uri }: { readonly uri: string }) {
  const qr = useMemo(() => qrPath(uri), [uri]);
  const secret = new URL(uri).searchParams.get("secret") ?? "";
  return (
    <div className="grid justify-items-center gap-3">
      {qr !== undefined && (
        // Black on white in both themes, for reliable scanning.
        <svg
          role="img"
          aria-label="QR code for your authenticator app"
          viewBox={`-3 -3 ${qr.size + 6} ${qr.size + 6}`}
          className="size-52 rounded-md bg-white"
          shapeRendering="crispEdges"
        >
          <path d={qr.path} fill="#000" />
        </svg>
      )}
      <p className="text-center text-soft">
        On this device?{" "}
        <a href={uri} className="text-accent underline">
          Open your authenticator app
        </a>
        , or enter this key:
      </p>
      <p className="flex items-center gap-2 rounded-md border bg-sunken px-3 py-1.5">
        <code className="font-mono break-words" data-secret="totp">
          {secret.replace(/(.{4})(?=.)/g, "$1 ")}
        </code>
        <CopyButton text={secret} label="Copy key" />
      </p>
    </div>
  );
}
