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
import { ShownOnce } from "../../ui/shown-once.tsx";

type Props = { readonly workspace: string; readonly open: boolean; readonly onClose: () => void };

const ACCESS = {
  read: "It sees what an admin sees, and changes nothing.",
  write: "It does what an admin may do: keys, members, policy, limits.",
} as const;

/** Makes a management token and shows it this once. */
export function CreateToken({ workspace, open, onClose }: Props) {
  const [name, setName] = useState("");
  const [access, setAccess] = useState<keyof typeof ACCESS>("read");
  const [days, setDays] = useState("90");
  const [made, setMade] = useState<ApiResponse<"manageCreateToken">>();
  const create = useManageMutation("manageCreateToken", { onDone: setMade });
  const close = () => {
    onClose();
    setName("");
    setMade(undefined);
    create.reset();
  };
  if (made !== undefined)
    return (
      <Dialog
        open={open}
        onClose={close}
        title={`Your new token: ${made.name}`}
        footer={
          <Button look="primary" onClick={close}>
            I have copied it
          </Button>
        }
      >
        <ShownOnce secret={made.token} label={made.name} />
        <div className="grid min-w-0 gap-1">
          <p className="text-soft">Try it, with TOKEN set to it:</p>
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
      title="Create a management token"
      onSubmit={() => create.mutate({ params: { workspace }, body })}
      action="Create the token"
      busy={create.isPending}
    >
      <Field label="Name" hint="The program that uses it: terraform, nightly report.">
        <Input autoFocus required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label="Access" hint={ACCESS[access]}>
        <Select
          value={access}
          onChange={(event) => setAccess(event.target.value === "write" ? "write" : "read")}
          options={[
            { value: "read", label: "Only read" },
            { value: "write", label: "Read and change" },
          ]}
        />
      </Field>
      <Field label="Ends">
        <Select
          value={days}
          onChange={(event) => setDays(event.target.value)}
          options={[
            { value: "30", label: "In 30 days" },
            { value: "90", label: "In 90 days" },
            { value: "365", label: "In a year" },
            { value: "never", label: "Never" },
          ]}
        />
      </Field>
      <ErrorNote error={create.error} />
    </FormDialog>
  );
}
