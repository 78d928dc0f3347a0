import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { apiErrorOf } from "../../api/error.ts";
import { useFresh } from "../../api/fresh.ts";
import type { Me } from "../../api/me.ts";
import { changePassword } from "../../api/people.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Card } from "../../ui/layout.tsx";
import { toast } from "../../ui/toast.tsx";
import { NewPassword, OwnPassword } from "../sign-in/passwords.tsx";

export function Password({ me }: { readonly me: Me }) {
  const [isOpen, setIsOpen] = useState(false);
  const says = me.has_password
    ? "A change ends every other session."
    : "You sign in with single sign-on and have none here.";
  return (
    <>
      <Card
        title="Password"
        about={says}
        actions={me.has_password && <Button onClick={() => setIsOpen(true)}>Change the password</Button>}
      />
      {isOpen && <Change onClose={() => setIsOpen(false)} />}
    </>
  );
}

function Change({ onClose }: { readonly onClose: () => void }) {
  const client = useQueryClient();
  const fresh = useFresh();
  const [now, setNow] = useState("");
  const [next, setNext] = useState("");
  const change = useMutation({
    mutationFn: () => fresh(() => changePassword(now, next)),
    onSuccess: async () => {
      toast("Your password is changed; other sessions have ended");
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
      title="Change the password"
      size="small"
      action="Change the password"
      busy={change.isPending}
      onSubmit={change.mutate}
    >
      {!isNew && <ErrorNote error={error} />}
      <OwnPassword label="Password until now" value={now} onChange={setNow} />
      <NewPassword label="New password" value={next} onChange={setNext} error={isNew ? error?.message : undefined} />
    </FormDialog>
  );
}
