import { useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Install } from "./install.tsx";
import type { IssuedNode } from "./node.ts";
import { CountryField } from "./place.tsx";

/** A name, and a country if it is to be declared; then the token and the command. */
export function AddNode({ workspace, close }: { readonly workspace: string; readonly close: () => void }) {
  const [name, setName] = useState("");
  const [country, setCountry] = useState("");
  const [made, setMade] = useState<IssuedNode>();
  const create = useManageMutation("manageCreateNode", { onDone: setMade });
  if (made !== undefined) return <Install workspace={workspace} node={made} close={close} />;
  const wrong = create.error?.param === "name" ? create.error.message : undefined;
  return (
    <FormDialog
      open
      onClose={close}
      title="Add a node"
      onSubmit={() => create.mutate({ params: { workspace }, body: { name, country: country || null } })}
      action="Add the node"
      busy={create.isPending}
    >
      <Field
        label="Name"
        hint={`Lower-case letters, digits and hyphens. Its models are called node/${name || "name"}/…; the name stays.`}
        error={wrong}
      >
        <Input
          autoFocus
          required
          mono
          maxLength={40}
          pattern="[a-z0-9](?:[a-z0-9\-]*[a-z0-9])?"
          autoComplete="off"
          value={name}
          onChange={(event) => setName(event.target.value.toLowerCase())}
        />
      </Field>
      <CountryField value={country} choose={setCountry} />
      {wrong === undefined && <ErrorNote error={create.error} />}
    </FormDialog>
  );
}
