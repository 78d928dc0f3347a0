import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManageMutation } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Dialog, FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { Callout } from "../../ui/layout.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { Countdown } from "./countdown.tsx";
import type { Key } from "./key.ts";

type Props = { readonly subject: Key; readonly onClose: () => void };

const RECENTLY_MS = 86_400_000;

/** Warns if the key was used recently. */
export function RevokeKey({ subject, onClose }: Props) {
  const isPending = subject.state === "pending";
  const revoke = useManageMutation("manageRevokeKey", {
    onDone: () => {
      toast(isPending ? `${subject.name} declined` : `${subject.name} revoked`);
      onClose();
    },
  });
  const { last_used_at } = subject;
  const wasUsedRecently = last_used_at !== null && Date.now() - Date.parse(last_used_at) < RECENTLY_MS;
  return (
    <Confirm
      open
      danger
      onClose={onClose}
      title={isPending ? `Decline ${subject.name}?` : `Revoke ${subject.name}?`}
      action={isPending ? "Decline key" : "Revoke key"}
      busy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate({ params: { id: subject.id } })}
    >
      {isPending ? (
        <p>The key will never work. This can't be undone. {subject.member ?? "The member"} can request another key.</p>
      ) : (
        <p>The key stops working with the next request and can't be restored. Its requests stay in the log.</p>
      )}
      {wasUsedRecently && (
        <p className="font-medium text-warn">
          This key was used <Time at={last_used_at} />. Clients that use it will get errors. To replace it without
          downtime, rotate it instead.
        </p>
      )}
    </Confirm>
  );
}

const GRACES = [
  { value: "0s", label: "Expire immediately" },
  { value: "1h", label: "1 hour" },
  { value: "24h", label: "1 day" },
  { value: "7d", label: "7 days" },
  { value: "30d", label: "30 days" },
];

/** Creates a key with the same settings; the old one keeps working for a grace period. */
export function RotateKey({ subject, onClose }: Props) {
  const [grace, setGrace] = useState("7d");
  const [rotatedKey, setRotatedKey] = useState<ApiResponse<"manageRotateKey">>();
  const [until, setUntil] = useState("");
  const rotate = useManageMutation("manageRotateKey", {
    onDone: (issued) => {
      setUntil(new Date(Date.now() + graceMs(grace)).toISOString());
      setRotatedKey(issued);
    },
  });
  if (rotatedKey !== undefined)
    return (
      <Dialog
        open
        onClose={onClose}
        title={`New key for ${subject.name}`}
        footer={
          <Button variant="primary" onClick={onClose}>
            I copied the key
          </Button>
        }
      >
        <OneTimeSecret secret={rotatedKey.key} label={rotatedKey.name} />
        <Callout tone="info" title="Old key">
          {grace === "0s" ? (
            "The old key has expired."
          ) : (
            <>
              The old key works for another <Countdown until={until} />. Replace it before then.
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
      action="Rotate key"
      busy={rotate.isPending}
    >
      <p className="text-soft">Creates a new key with the same name, settings and spend limits.</p>
      <Field label="Grace period for the old key">
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
