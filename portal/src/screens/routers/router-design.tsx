import { useManageMutation } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Callout, Stack } from "../../ui/layout.tsx";
import { SaveBar } from "../../ui/save-bar.tsx";
import { toast } from "../../ui/toast.tsx";
import { useNavigateTo, useWorkspace } from "../../url-state.ts";
import { RouterForm } from "./router-form.tsx";
import type { RouterEditing } from "./router-spec.ts";
import { routerBody } from "./router-spec.ts";
import { RoutingPreview } from "./routing-preview.tsx";

/** The form and a routing preview. */
export function RouterDesign({ editing }: { readonly editing: RouterEditing }) {
  const { mayChange, isChanged, saved, slug } = editing;
  const isNew = saved === undefined && slug !== "auto";
  return (
    <Stack>
      {!mayChange && (
        <Callout title="Read-only">
          Only admins and owners can change routers. You can try changes here without saving them.
        </Callout>
      )}
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-5 lg:grid-cols-[minmax(0,1fr)_minmax(0,26rem)]">
        <RouterForm editing={editing} />
        <div className="min-w-0 lg:sticky lg:top-4">
          <RoutingPreview editing={editing} />
        </div>
      </div>
      {mayChange && (isChanged || isNew) && <SaveRouter editing={editing} />}
    </Stack>
  );
}

function SaveRouter({ editing }: { readonly editing: RouterEditing }) {
  const { slug, draft, spec, saved, setDraft, isChanged } = editing;
  const { workspace, at } = useWorkspace();
  const navigateTo = useNavigateTo();
  const save = useManageMutation("managePutRouter", {
    onDone: ({ version }) => {
      setDraft(undefined);
      toast(`Router saved as version ${version}`);
      if (saved === undefined) navigateTo(at(`routers/${slug}`), "replace");
    },
  });
  return (
    <SaveBar
      title={saved === undefined ? "Not saved" : `Unsaved changes to version ${saved.version}`}
      actions={
        <>
          {isChanged && <Button onClick={() => setDraft(undefined)}>Discard</Button>}
          <Button
            variant="primary"
            busy={save.isPending}
            onClick={() => save.mutate({ params: { workspace, router: slug }, body: routerBody(draft, spec) })}
          >
            Save router
          </Button>
        </>
      }
    >
      <ErrorNote error={save.error} />
    </SaveBar>
  );
}
