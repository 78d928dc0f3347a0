import { useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { toast } from "../../ui/toast.tsx";
import { useNavigateTo, useWorkspace } from "../../url-state.ts";
import { AUTO } from "./router-spec.ts";

export function RemoveRouter({ slug, name }: { readonly slug: string; readonly name: string }) {
  const { workspace, at } = useWorkspace();
  const navigateTo = useNavigateTo();
  const [isConfirming, setIsConfirming] = useState(false);
  const remove = useManageMutation("manageRemoveRouter", {
    onDone: () => {
      toast(`${name} removed`);
      navigateTo(at("routers"));
    },
  });
  return (
    <>
      <Button variant="danger" icon="trash" onClick={() => setIsConfirming(true)}>
        {slug === AUTO ? "Reset to built-in" : "Remove router"}
      </Button>
      <Confirm
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        onConfirm={() => remove.mutate({ params: { workspace, router: slug } })}
        title={`Remove ${name}?`}
        action="Remove router"
        danger
        busy={remove.isPending}
        error={remove.error}
      >
        {slug === AUTO ? (
          <p>auto then uses equal weights for all models that the policy allows.</p>
        ) : (
          <p>Requests that use this router are rejected. Its versions stay and can be restored.</p>
        )}
      </Confirm>
    </>
  );
}
