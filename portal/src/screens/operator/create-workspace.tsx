import { useState } from "react";
import { pathIn, useNavigateTo } from "../../address.ts";
import { useManageMutation, usePublic } from "../../api/hooks.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";

type Currencies = { readonly data: readonly { readonly code: string; readonly name: string }[] };

/** What a name becomes in addresses. */
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
  /** Absent: on to its members, because whoever runs the gateway makes it for somebody else. */
  readonly onMade?: (slug: string) => void;
};

export function CreateWorkspace({ open, onClose, onMade }: Props) {
  const go = useNavigateTo();
  const [name, setName] = useState("");
  const [slug, setSlug] = useState<string>();
  const [currency, setCurrency] = useState("EUR");
  const currencies = usePublic<Currencies>("/v1/public/currencies", { enabled: open }).data?.data ?? [];
  const create = useManageMutation("manageCreateWorkspace", {
    onDone: (made) => {
      if (onMade !== undefined) return onMade(made.slug);
      toast(`${made.name} is there. Invite its owner next.`);
      go(pathIn(made.slug, "members?new=1"));
    },
  });
  const close = () => {
    setName("");
    setSlug(undefined);
    create.reset();
    onClose();
  };
  const said = slug ?? slugOf(name);
  const wrong = (param: string) => (create.error?.param === param ? create.error.message : undefined);
  return (
    <FormDialog
      open={open}
      onClose={close}
      title="Create a workspace"
      onSubmit={() => create.mutate({ body: { slug: said, name, currency } })}
      action="Create"
      busy={create.isPending}
    >
      <Field label="Name" error={wrong("name")}>
        <Input required value={name} onChange={(event) => setName(event.target.value)} maxLength={100} />
      </Field>
      <Field label="Slug" hint="Its name in addresses and calls. It cannot be changed later." error={wrong("slug")}>
        <Input required mono value={said} onChange={(event) => setSlug(event.target.value)} maxLength={63} />
      </Field>
      <Field label="Currency of the wallet" hint="It cannot be changed later." error={wrong("currency")}>
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
