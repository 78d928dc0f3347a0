import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { useManageMutation } from "../../api/hooks.ts";
import { DAY_MS } from "../../format/time.ts";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { Dialog, FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";

type Props = { readonly workspace: string; readonly open: boolean; readonly onClose: () => void };

const ACCESS = {
  read: "Read-only access to everything an admin can see.",
  write: "Full admin access: keys, members, policy and limits.",
} as const;

export function CreateToken({ workspace, open, onClose }: Props) {
  const [name, setName] = useState("");
  const [access, setAccess] = useState<keyof typeof ACCESS>("read");
  const [days, setDays] = useState("90");
  const [createdToken, setCreatedToken] = useState<ApiResponse<"manageCreateToken">>();
  const create = useManageMutation("manageCreateToken", { onDone: setCreatedToken });
  const close = () => {
    onClose();
    setName("");
    setCreatedToken(undefined);
    create.reset();
  };
  if (createdToken !== undefined)
    return (
      <Dialog
        open={open}
        onClose={close}
        title={`Token created: ${createdToken.name}`}
        footer={
          <Button variant="primary" onClick={close}>
            I copied the token
          </Button>
        }
      >
        <OneTimeSecret secret={createdToken.token} label={createdToken.name} />
        <div className="grid min-w-0 gap-1">
          <p className="text-soft">Test it with TOKEN set to the new token:</p>
          <CodeBlock code={curlOf("manageShowWorkspace", { params: { workspace } })} label="Show the workspace" />
        </div>
      </Dialog>
    );
  const expires_at = days === "never" ? undefined : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
  const body = { name: name.trim(), access, ...(expires_at === undefined ? {} : { expires_at }) };
  return (
    <FormDialog
      open={open}
      onClose={close}
      title="Create management token"
      onSubmit={() => create.mutate({ params: { workspace }, body })}
      action="Create token"
      busy={create.isPending}
    >
      <Field label="Name" hint="For example, the program that uses it: terraform, nightly report.">
        <Input autoFocus required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label="Access" hint={ACCESS[access]}>
        <Select
          value={access}
          onChange={(event) => setAccess(event.target.value === "write" ? "write" : "read")}
          options={[
            { value: "read", label: "Read-only" },
            { value: "write", label: "Read and write" },
          ]}
        />
      </Field>
      <Field label="Expires">
        <Select
          value={days}
          onChange={(event) => setDays(event.target.value)}
          options={[
            { value: "30", label: "In 30 days" },
            { value: "90", label: "In 90 days" },
            { value: "365", label: "In 1 year" },
            { value: "never", label: "Never" },
          ]}
        />
      </Field>
      <ErrorNote error={create.error} />
    </FormDialog>
  );
}
