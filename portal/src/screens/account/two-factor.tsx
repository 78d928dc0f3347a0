import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { proving, useFresh } from "../../api/fresh.ts";
import type { Me } from "../../api/me.ts";
import { beginTotp, endTotp, giveCode, newBackupCodes, proveByPassword } from "../../api/people.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog, FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field } from "../../ui/field.tsx";
import { Card } from "../../ui/layout.tsx";
import { toast } from "../../ui/toast.tsx";
import { CodeInput } from "../sign-in/code-step.tsx";
import { OwnPassword } from "../sign-in/passwords.tsx";
import { BackupCodes } from "./backup-codes.tsx";
import { TotpKey } from "./totp-key.tsx";

type Step =
  | { readonly is: "password"; readonly purpose: "on" | "off" | "codes" }
  | { readonly is: "scan"; readonly uri: string; readonly codes: readonly string[] }
  | { readonly is: "codes"; readonly codes: readonly string[] };

/** A code of an authenticator app beside the password. */
export function TwoFactor({ me }: { readonly me: Me }) {
  const [step, setStep] = useState<Step | null>(null);
  const client = useQueryClient();
  const close = () => {
    setStep(null);
    void client.invalidateQueries();
  };
  const begin = (purpose: "on" | "off" | "codes") => () => setStep({ is: "password", purpose });
  const actions = me.two_factor ? (
    <>
      <Button onClick={begin("codes")}>New backup codes</Button>
      <Button look="danger" onClick={begin("off")}>
        Turn off
      </Button>
    </>
  ) : (
    <Button onClick={begin("on")}>Turn on</Button>
  );
  const title = (
    <span className="flex items-center gap-2">
      Second factor {me.two_factor ? <Badge tone="good">on</Badge> : <Badge>off</Badge>}
    </span>
  );
  return (
    <>
      <Card
        title={title}
        about="Six digits from an app on your phone, asked after your password."
        actions={me.has_password && actions}
      />
      {step?.is === "password" && (
        <AskPassword email={me.email} purpose={step.purpose} onStep={setStep} onClose={close} />
      )}
      {step?.is === "scan" && (
        <Scan uri={step.uri} onDone={() => setStep({ is: "codes", codes: step.codes })} onClose={close} />
      )}
      {step?.is === "codes" && (
        <Dialog
          open
          onClose={close}
          title="Keep your backup codes"
          footer={<Button onClick={close}>I have kept them</Button>}
        >
          <BackupCodes codes={step.codes} />
        </Dialog>
      )}
    </>
  );
}

const TITLES = {
  on: "Turn on the second factor",
  off: "Turn off the second factor",
  codes: "New backup codes",
} as const;

function AskPassword({
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
  const fresh = useFresh();
  const [password, setPassword] = useState("");
  const turnOn = async () => {
    const { totpURI, backupCodes } = await beginTotp(password);
    onStep({ is: "scan", uri: totpURI, codes: backupCodes });
  };
  const change = async () => {
    if (purpose === "codes") onStep({ is: "codes", codes: (await newBackupCodes(password)).backupCodes });
    else {
      await endTotp(password);
      toast("The second factor is off");
      onClose();
    }
  };
  const go = useMutation({
    // As long as the password is all there is, the one that was just typed is the proof.
    mutationFn: () => (purpose === "on" ? proving(turnOn, () => proveByPassword(email, password)) : fresh(change)),
  });
  return (
    <FormDialog
      open
      onClose={onClose}
      title={TITLES[purpose]}
      size="small"
      action={purpose === "off" ? "Turn off" : "Go on"}
      busy={go.isPending}
      danger={purpose === "off"}
      onSubmit={go.mutate}
    >
      {purpose === "off" && <p className="text-soft">Whoever knows your password can then sign in as you.</p>}
      {purpose === "codes" && <p className="text-soft">The codes until now stop working.</p>}
      <ErrorNote error={go.error} />
      <OwnPassword value={password} onChange={setPassword} />
    </FormDialog>
  );
}

function Scan({
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
    mutationFn: () => giveCode("app", code),
    onSuccess: () => {
      toast("The second factor is on");
      onDone();
    },
  });
  return (
    <FormDialog
      open
      onClose={onClose}
      title="Scan this with your app"
      action="Turn on"
      busy={confirm.isPending}
      onSubmit={confirm.mutate}
    >
      <TotpKey uri={uri} />
      <ErrorNote error={confirm.error} />
      <Field label="Code" hint="Six digits that the app shows now: they prove that it works.">
        <CodeInput value={code} onChange={setCode} />
      </Field>
    </FormDialog>
  );
}
