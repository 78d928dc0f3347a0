import { useNavigateTo, useWorkspace } from "../../address.ts";
import { useManageMutation } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Callout, Stack } from "../../ui/layout.tsx";
import { SaveBar } from "../../ui/save-bar.tsx";
import { toast } from "../../ui/toast.tsx";
import { DesignForm } from "./design-form.tsx";
import { Preview } from "./preview.tsx";
import type { Edited } from "./spec.ts";
import { putOf } from "./spec.ts";

/** The router on one side, whom it would pick on the other. */
export function Design({ edited }: { readonly edited: Edited }) {
  const { mayChange, isChanged, saved, slug } = edited;
  const isNew = saved === undefined && slug !== "auto";
  return (
    <Stack>
      {!mayChange && (
        <Callout title="You can look and try">
          Only an admin or an owner changes routers. Nothing here is saved.
        </Callout>
      )}
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-5 lg:grid-cols-[minmax(0,1fr)_minmax(0,26rem)]">
        <DesignForm edited={edited} />
        <div className="min-w-0 lg:sticky lg:top-4">
          <Preview edited={edited} />
        </div>
      </div>
      {mayChange && (isChanged || isNew) && <SaveRouter edited={edited} />}
    </Stack>
  );
}

function SaveRouter({ edited }: { readonly edited: Edited }) {
  const { slug, draft, spec, saved, setDraft, isChanged } = edited;
  const { workspace, at } = useWorkspace();
  const go = useNavigateTo();
  const save = useManageMutation("managePutRouter", {
    onDone: ({ version }) => {
      setDraft(undefined);
      toast(`Saved as version ${version}. The next request already follows it.`);
      if (saved === undefined) go(at(`routers/${slug}`), "replace");
    },
  });
  return (
    <SaveBar
      title={saved === undefined ? "Not saved yet" : `Changed since version ${saved.version}`}
      actions={
        <>
          {isChanged && <Button onClick={() => setDraft(undefined)}>Discard</Button>}
          <Button
            look="primary"
            busy={save.isPending}
            onClick={() => save.mutate({ params: { workspace, router: slug }, body: putOf(draft, spec) })}
          >
            Save the router
          </Button>
        </>
      }
    >
      <ErrorNote error={save.error} />
    </SaveBar>
  );
}
