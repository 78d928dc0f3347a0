import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManageMutation } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Dialog, FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { Callout } from "../../ui/layout.tsx";
import { ShownOnce } from "../../ui/shown-once.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { Countdown } from "./countdown.tsx";
import type { Key } from "./key.ts";

type Props = { readonly subject: Key; readonly onClose: () => void };

const RECENTLY_MS = 86_400_000;

/** Ends a key. Says who would notice. */
export function RevokeKey({ subject, onClose }: Props) {
  const isWaiting = subject.state === "pending";
  const revoke = useManageMutation("manageRevokeKey", {
    onDone: () => {
      toast(isWaiting ? `${subject.name} is declined.` : `${subject.name} is revoked.`);
      onClose();
    },
  });
  const { last_used_at } = subject;
  const isInUse = last_used_at !== null && Date.now() - Date.parse(last_used_at) < RECENTLY_MS;
  return (
    <Confirm
      open
      danger
      onClose={onClose}
      title={isWaiting ? `Decline ${subject.name}?` : `Revoke ${subject.name}?`}
      action={isWaiting ? "Decline the key" : "Revoke the key"}
      busy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate({ params: { id: subject.id } })}
    >
      {isWaiting ? (
        <p>It never works, and this cannot be undone. {subject.member ?? "Its member"} can ask for another one.</p>
      ) : (
        <p>It stops on the next request, and it cannot be brought back. What it did stays in the log.</p>
      )}
      {isInUse && (
        <p className="font-medium text-warn">
          It was used <Time at={last_used_at} />. Whoever uses it is refused from then on. To change it without a break,
          rotate it instead.
        </p>
      )}
    </Confirm>
  );
}

const GRACES = [
  { value: "0s", label: "Not at all: it stops at once" },
  { value: "1h", label: "One hour" },
  { value: "24h", label: "One day" },
  { value: "7d", label: "Seven days" },
  { value: "30d", label: "Thirty days" },
];

/** A new key with the same settings; the old one goes on for a while. */
export function RotateKey({ subject, onClose }: Props) {
  const [grace, setGrace] = useState("7d");
  const [made, setMade] = useState<ApiResponse<"manageRotateKey">>();
  const [until, setUntil] = useState("");
  const rotate = useManageMutation("manageRotateKey", {
    onDone: (issued) => {
      setUntil(new Date(Date.now() + graceMs(grace)).toISOString());
      setMade(issued);
    },
  });
  if (made !== undefined)
    return (
      <Dialog
        open
        onClose={onClose}
        title={`The new key of ${subject.name}`}
        footer={
          <Button look="primary" onClick={onClose}>
            I have copied it
          </Button>
        }
      >
        <ShownOnce secret={made.key} label={made.name} />
        <Callout tone="info" title="The old key">
          {grace === "0s" ? (
            "It has stopped."
          ) : (
            <>
              It works for another <Countdown until={until} />. Put the new one in its place before then.
            </>
          )}
        </Callout>
      </Dialog>
    );
  return (
    <FormDialog
      open
      onClose={onClose}
      title={`Rotate ${subject.name}`}
      onSubmit={() => rotate.mutate({ params: { id: subject.id }, body: { grace } })}
      action="Rotate the key"
      busy={rotate.isPending}
    >
      <p className="text-soft">A new key takes over its name, settings and spend limits.</p>
      <Field label="How long the old one keeps working">
        <Select value={grace} onChange={(event) => setGrace(event.target.value)} options={GRACES} />
      </Field>
      <ErrorNote error={rotate.error} />
    </FormDialog>
  );
}

const UNITS_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function graceMs(text: string): number {
  const [, count = "0", unit = "s"] = /^(\d+)([smhd])$/.exec(text) ?? [];
  return (
    Number(count) * (unit === "d" ? UNITS_MS.d : unit === "h" ? UNITS_MS.h : unit === "m" ? UNITS_MS.m : UNITS_MS.s)
  );
}
