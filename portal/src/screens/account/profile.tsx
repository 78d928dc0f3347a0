import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { ME_KEY, type Me } from "../../api/me.ts";
import { updateMyName } from "../../api/people.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Card } from "../../ui/layout.tsx";
import { toast } from "../../ui/toast.tsx";

export function Profile({ me }: { readonly me: Me }) {
  const client = useQueryClient();
  const [name, setName] = useState(me.name);
  const save = useMutation({
    mutationFn: () => updateMyName(name.trim()),
    onSuccess: async () => {
      toast("Name saved");
      await client.invalidateQueries({ queryKey: ME_KEY });
    },
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Card title="Profile">
      <form onSubmit={submit} className="grid gap-4">
        <ErrorNote error={save.error} />
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Name">
            <Input
              autoComplete="name"
              required
              maxLength={100}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          </Field>
          <Field label="Email" hint="Identifies you in workspaces. It can't be changed here.">
            <Input value={me.email} readOnly className="bg-sunken" />
          </Field>
        </div>
        <Button
          type="submit"
          className="justify-self-start"
          disabled={name.trim() === me.name || name.trim() === ""}
          busy={save.isPending}
        >
          Save name
        </Button>
      </form>
    </Card>
  );
}
