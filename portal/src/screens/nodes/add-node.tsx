import { useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { ConnectNode } from "./connect-node.tsx";
import type { IssuedNode } from "./node.ts";
import { CountryField } from "./node-country.tsx";

export function AddNode({ workspace, close }: { readonly workspace: string; readonly close: () => void }) {
  const [name, setName] = useState("");
  const [country, setCountry] = useState("");
  const [createdNode, setCreatedNode] = useState<IssuedNode>();
  const create = useManageMutation("manageCreateNode", { onDone: setCreatedNode });
  if (createdNode !== undefined) return <ConnectNode workspace={workspace} node={createdNode} close={close} />;
  const nameError = create.error?.param === "name" ? create.error.message : undefined;
  return (
    <FormDialog
      open
      onClose={close}
      title="Add node"
      onSubmit={() => create.mutate({ params: { workspace }, body: { name, country: country || null } })}
      action="Add node"
      busy={create.isPending}
    >
      <Field
        label="Name"
        hint={`Lowercase letters, digits and hyphens. Models are named node/${name || "name"}/…. The name can't be changed.`}
        error={nameError}
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
      {nameError === undefined && <ErrorNote error={create.error} />}
    </FormDialog>
  );
}
