import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { addPasskey, listPasskeys, type Passkey, removePasskey, renamePasskey } from "../../api/people.ts";
import { useReauthentication } from "../../api/reauthentication.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote, ErrorState } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card } from "../../ui/layout.tsx";
import { Menu } from "../../ui/menu.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { passkeyError } from "../sign-in/sign-in-form.tsx";

type PasskeyAction = { readonly kind: "add" } | { readonly kind: "rename" | "remove"; readonly passkey: Passkey };

export function Passkeys() {
  const [action, setAction] = useState<PasskeyAction | null>(null);
  const passkeys = useQuery({ queryKey: ["passkeys"], queryFn: listPasskeys });
  const rows = passkeys.data?.data ?? [];
  const add = <Button onClick={() => setAction({ kind: "add" })}>Add passkey</Button>;
  return (
    <Card
      title="Passkeys"
      about="Sign in with your fingerprint, face or a security key. Passkeys resist phishing."
      actions={rows.length > 0 && add}
      flush
    >
      {passkeys.isPending && (
        <div className="px-5 py-4">
          <SkeletonLines count={2} />
        </div>
      )}
      {passkeys.error !== null && <ErrorState error={passkeys.error} onRetry={() => void passkeys.refetch()} />}
      {passkeys.isSuccess && rows.length === 0 && (
        <EmptyState
          icon="fingerprint"
          title="No passkeys yet"
          hint="A passkey is the fastest and safest way to sign in."
        >
          {add}
        </EmptyState>
      )}
      <ul className="divide-y">
        {rows.map((passkey) => (
          <li key={passkey.id} className="flex items-center gap-3 py-2 pr-3 pl-5">
            <Icon name="fingerprint" className="text-soft" />
            <span className="min-w-0 flex-1">
              <span className="block truncate font-medium">{passkey.name ?? "Passkey"}</span>
              <span className="text-xs text-soft">
                Added <Time at={passkey.created_at} none="at an unknown date" />
                {passkey.backed_up && " · Synced"}
              </span>
            </span>
            <Menu
              label={`Actions for ${passkey.name ?? "passkey"}`}
              items={[
                { label: "Rename", icon: "edit", onSelect: () => setAction({ kind: "rename", passkey }) },
                {
                  label: "Remove",
                  icon: "trash",
                  danger: true,
                  onSelect: () => setAction({ kind: "remove", passkey }),
                },
              ]}
            />
          </li>
        ))}
      </ul>
      {(action?.kind === "add" || action?.kind === "rename") && (
        <PasskeyNameDialog passkey={action.kind === "rename" ? action.passkey : null} onClose={() => setAction(null)} />
      )}
      {action?.kind === "remove" && <RemovePasskeyDialog passkey={action.passkey} onClose={() => setAction(null)} />}
    </Card>
  );
}

function PasskeyNameDialog({ passkey, onClose }: { readonly passkey: Passkey | null; readonly onClose: () => void }) {
  const client = useQueryClient();
  const runReauthenticated = useReauthentication();
  const [name, setName] = useState(passkey?.name ?? "");
  const save = useMutation({
    mutationFn: () =>
      runReauthenticated(() => (passkey === null ? addPasskey(name.trim()) : renamePasskey(passkey.id, name.trim()))),
    onSuccess: async () => {
      toast(passkey === null ? "Passkey added" : "Passkey renamed");
      onClose();
      await client.invalidateQueries();
    },
  });
  return (
    <FormDialog
      open
      onClose={onClose}
      title={passkey === null ? "Add passkey" : "Rename passkey"}
      size="small"
      action={passkey === null ? "Continue" : "Save"}
      busy={save.isPending}
      onSubmit={save.mutate}
    >
      <ErrorNote error={passkeyError(save.error)} />
      <Field label="Name" hint="For example, the device that stores it.">
        <Input
          required
          maxLength={60}
          placeholder="My laptop"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
    </FormDialog>
  );
}

function RemovePasskeyDialog({ passkey, onClose }: { readonly passkey: Passkey; readonly onClose: () => void }) {
  const client = useQueryClient();
  const runReauthenticated = useReauthentication();
  const remove = useMutation({
    mutationFn: () => runReauthenticated(() => removePasskey(passkey.id)),
    onSuccess: async () => {
      toast("Passkey removed");
      onClose();
      await client.invalidateQueries();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={remove.mutate}
      title="Remove passkey?"
      action="Remove passkey"
      danger
      busy={remove.isPending}
      error={remove.error}
    >
      <p>
        You can no longer sign in with {passkey.name ?? "this passkey"}. Also delete it from your device, which would
        otherwise keep offering it.
      </p>
    </Confirm>
  );
}
