import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { apiErrorOf } from "../../api/error.ts";
import type { Me } from "../../api/me.ts";
import { changePassword } from "../../api/people.ts";
import { useReauthentication } from "../../api/reauthentication.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Card } from "../../ui/layout.tsx";
import { toast } from "../../ui/toast.tsx";
import { CurrentPasswordField, NewPasswordField } from "../sign-in/password-fields.tsx";

export function Password({ me }: { readonly me: Me }) {
  const [isOpen, setIsOpen] = useState(false);
  const description = me.has_password
    ? "Changing your password signs you out of all other sessions."
    : "You sign in with single sign-on and have no password here.";
  return (
    <>
      <Card
        title="Password"
        about={description}
        actions={me.has_password && <Button onClick={() => setIsOpen(true)}>Change password</Button>}
      />
      {isOpen && <ChangePasswordDialog onClose={() => setIsOpen(false)} />}
    </>
  );
}

function ChangePasswordDialog({ onClose }: { readonly onClose: () => void }) {
  const client = useQueryClient();
  const runReauthenticated = useReauthentication();
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const change = useMutation({
    mutationFn: () => runReauthenticated(() => changePassword(current, next)),
    onSuccess: async () => {
      toast("Password changed. Other sessions were signed out.");
      onClose();
      await client.invalidateQueries();
    },
  });
  const error = change.error === null ? undefined : apiErrorOf(change.error);
  const isNew = error?.param === "newPassword";
  return (
    <FormDialog
      open
      onClose={onClose}
      title="Change password"
      size="small"
      action="Change password"
      busy={change.isPending}
      onSubmit={change.mutate}
    >
      {!isNew && <ErrorNote error={error} />}
      <CurrentPasswordField label="Current password" value={current} onChange={setCurrent} />
      <NewPasswordField
        label="New password"
        value={next}
        onChange={setNext}
        error={isNew ? error?.message : undefined}
      />
    </FormDialog>
  );
}
