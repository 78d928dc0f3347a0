import { useState } from "react";
import { useManageMutation, usePublic } from "../../api/hooks.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { pathIn, useNavigateTo } from "../../url-state.ts";

type Currencies = { readonly data: readonly { readonly code: string; readonly name: string }[] };

/** The default slug for a name. */
function slugOf(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 63);
}

type Props = {
  readonly open: boolean;
  readonly onClose: () => void;
  /** Default: opens the member list, as operators create workspaces for others. */
  readonly onCreated?: (slug: string) => void;
};

export function CreateWorkspace({ open, onClose, onCreated }: Props) {
  const navigateTo = useNavigateTo();
  const [name, setName] = useState("");
  const [slug, setSlug] = useState<string>();
  const [currency, setCurrency] = useState("EUR");
  const currencies = usePublic<Currencies>("/v1/public/currencies", { enabled: open }).data?.data ?? [];
  const create = useManageMutation("manageCreateWorkspace", {
    onDone: (created) => {
      if (onCreated !== undefined) return onCreated(created.slug);
      toast(`${created.name} created. Invite its owner next.`);
      navigateTo(pathIn(created.slug, "members?new=1"));
    },
  });
  const close = () => {
    setName("");
    setSlug(undefined);
    create.reset();
    onClose();
  };
  const chosenSlug = slug ?? slugOf(name);
  const fieldError = (param: string) => (create.error?.param === param ? create.error.message : undefined);
  return (
    <FormDialog
      open={open}
      onClose={close}
      title="Create workspace"
      onSubmit={() => create.mutate({ body: { slug: chosenSlug, name, currency } })}
      action="Create workspace"
      busy={create.isPending}
    >
      <Field label="Name" error={fieldError("name")}>
        <Input required value={name} onChange={(event) => setName(event.target.value)} maxLength={100} />
      </Field>
      <Field
        label="Slug"
        hint="Identifies the workspace in URLs and API calls. It can't be changed later."
        error={fieldError("slug")}
      >
        <Input required mono value={chosenSlug} onChange={(event) => setSlug(event.target.value)} maxLength={63} />
      </Field>
      <Field label="Wallet currency" hint="It can't be changed later." error={fieldError("currency")}>
        <Select value={currency} onChange={(event) => setCurrency(event.target.value)}>
          {currencies.length === 0 && <option value="EUR">EUR</option>}
          {currencies.map((one) => (
            <option key={one.code} value={one.code}>
              {one.code} {one.name}
            </option>
          ))}
        </Select>
      </Field>
      {create.error !== null && create.error.param === null && <ErrorNote error={create.error} />}
    </FormDialog>
  );
}
