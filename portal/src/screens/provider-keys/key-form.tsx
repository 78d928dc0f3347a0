import { useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import { toast } from "../../ui/toast.tsx";
import { useWorkspace } from "../../url-state.ts";
import { CredentialForm } from "./credential-form.tsx";
import { KeyUsageField } from "./key-usage-field.tsx";
import { USES, type Use } from "./provider-rows.ts";

export function KeyForm({
  provider,
  name,
  use: initialUse,
  onDone,
}: {
  readonly provider: string;
  readonly name: string;
  readonly use: Use;
  readonly onDone?: (() => void) | undefined;
}) {
  const { workspace } = useWorkspace();
  const [use, setUse] = useState<Use>(initialUse);
  const put = useManageMutation("managePutOwnKey", {
    onDone: ({ result }) => {
      toast(result === "accepted" ? `${name} accepted the key` : "Key stored without a test");
      onDone?.();
    },
  });
  return (
    <CredentialForm
      provider={provider}
      name={name}
      error={put.error}
      busy={put.isPending}
      send={(credential) => put.mutateAsync({ params: { workspace, provider }, body: { ...credential, use } })}
    >
      <KeyUsageField value={use} onChange={setUse} options={USES} />
    </CredentialForm>
  );
}
