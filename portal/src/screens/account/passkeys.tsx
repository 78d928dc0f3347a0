import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useFresh } from "../../api/fresh.ts";
import { addPasskey, listPasskeys, type Passkey, removePasskey, renamePasskey } from "../../api/people.ts";
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
import { passkeyError } from "../sign-in/ways.tsx";

type Doing = { readonly is: "add" } | { readonly is: "rename" | "remove"; readonly passkey: Passkey };

export function Passkeys() {
  const [doing, setDoing] = useState<Doing | null>(null);
  const passkeys = useQuery({ queryKey: ["passkeys"], queryFn: listPasskeys });
  const rows = passkeys.data?.data ?? [];
  const add = <Button onClick={() => setDoing({ is: "add" })}>Add a passkey</Button>;
  return (
    <Card
      title="Passkeys"
      about="Sign in with your fingerprint, face or a security key. Nobody can phish them."
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
          title="You have no passkey yet"
          hint="It is the quickest way to sign in, and the safest one."
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
                Added <Time at={passkey.created_at} none="some time ago" />
                {passkey.backed_up && " · synchronised by its maker"}
              </span>
            </span>
            <Menu
              label={`Actions of ${passkey.name ?? "the passkey"}`}
              items={[
                { label: "Rename", icon: "edit", onSelect: () => setDoing({ is: "rename", passkey }) },
                { label: "Remove", icon: "trash", danger: true, onSelect: () => setDoing({ is: "remove", passkey }) },
              ]}
            />
          </li>
        ))}
      </ul>
      {(doing?.is === "add" || doing?.is === "rename") && (
        <Name passkey={doing.is === "rename" ? doing.passkey : null} onClose={() => setDoing(null)} />
      )}
      {doing?.is === "remove" && <Remove passkey={doing.passkey} onClose={() => setDoing(null)} />}
    </Card>
  );
}

function Name({ passkey, onClose }: { readonly passkey: Passkey | null; readonly onClose: () => void }) {
  const client = useQueryClient();
  const fresh = useFresh();
  const [name, setName] = useState(passkey?.name ?? "");
  const save = useMutation({
    mutationFn: () =>
      fresh(() => (passkey === null ? addPasskey(name.trim()) : renamePasskey(passkey.id, name.trim()))),
    onSuccess: async () => {
      toast(passkey === null ? "The passkey is added" : "The passkey is renamed");
      onClose();
      await client.invalidateQueries();
    },
  });
  return (
    <FormDialog
      open
      onClose={onClose}
      title={passkey === null ? "Add a passkey" : "Rename the passkey"}
      size="small"
      action={passkey === null ? "Go on" : "Save"}
      busy={save.isPending}
      onSubmit={save.mutate}
    >
      <ErrorNote error={passkeyError(save.error)} />
      <Field label="Its name" hint="So that you know it again: the device that it is on.">
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

function Remove({ passkey, onClose }: { readonly passkey: Passkey; readonly onClose: () => void }) {
  const client = useQueryClient();
  const fresh = useFresh();
  const remove = useMutation({
    mutationFn: () => fresh(() => removePasskey(passkey.id)),
    onSuccess: async () => {
      toast("The passkey is removed");
      onClose();
      await client.invalidateQueries();
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={remove.mutate}
      title="Remove the passkey?"
      action="Remove it"
      danger
      busy={remove.isPending}
      error={remove.error}
    >
      <p>
        You can no longer sign in with {passkey.name ?? "it"}. Remove it from your device too, so that it is not offered
        there.
      </p>
    </Confirm>
  );
}
