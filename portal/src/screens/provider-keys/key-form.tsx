import { useState } from "react";
import { useWorkspace } from "../../address.ts";
import { useManageMutation } from "../../api/hooks.ts";
import { toast } from "../../ui/toast.tsx";
import { CredentialForm } from "./credential-form.tsx";
import { USES, type Use } from "./rows.ts";
import { UseChoice } from "./use-choice.tsx";

/** Connects a provider with the workspace's own key, or replaces it. */
export function KeyForm({
  provider,
  name,
  use: usual,
  done,
}: {
  readonly provider: string;
  readonly name: string;
  readonly use: Use;
  readonly done?: (() => void) | undefined;
}) {
  const { workspace } = useWorkspace();
  const [use, setUse] = useState<Use>(usual);
  const put = useManageMutation("managePutOwnKey", {
    onDone: ({ result }) => {
      toast(result === "accepted" ? `${name} accepts the key. It is used from now on.` : "The key is kept untested.");
      done?.();
    },
  });
  return (
    <CredentialForm
      provider={provider}
      name={name}
      error={put.error}
      busy={put.isPending}
      send={(given) => put.mutateAsync({ params: { workspace, provider }, body: { ...given, use } })}
    >
      <UseChoice value={use} onChange={setUse} options={USES} />
    </CredentialForm>
  );
}
