import { useState } from "react";
import { useNavigateTo, useWorkspace } from "../../address.ts";
import { useManageMutation } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { toast } from "../../ui/toast.tsx";
import { AUTO } from "./spec.ts";

export function RemoveRouter({ slug, name }: { readonly slug: string; readonly name: string }) {
  const { workspace, at } = useWorkspace();
  const go = useNavigateTo();
  const [isAsking, setIsAsking] = useState(false);
  const remove = useManageMutation("manageRemoveRouter", {
    onDone: () => {
      toast(`${name} was removed.`);
      go(at("routers"));
    },
  });
  return (
    <>
      <Button look="danger" icon="trash" onClick={() => setIsAsking(true)}>
        {slug === AUTO ? "Back to built in" : "Remove"}
      </Button>
      <Confirm
        open={isAsking}
        onClose={() => setIsAsking(false)}
        onConfirm={() => remove.mutate({ params: { workspace, router: slug } })}
        title={`Remove ${name}?`}
        action="Remove the router"
        danger
        busy={remove.isPending}
        error={remove.error}
      >
        {slug === AUTO ? (
          <p>auto goes on with even weights over everything that the policy allows.</p>
        ) : (
          <p>The next request that asks for it is refused. Its versions stay, and any of them can be restored.</p>
        )}
      </Confirm>
    </>
  );
}
