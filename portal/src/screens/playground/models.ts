import { usePreview } from "../../api/ask.ts";
import { useManage, usePublic } from "../../api/hooks.ts";
import { isChat, type Surface } from "./draft.ts";
import { at } from "./fold.ts";

type Listed = { readonly data: readonly { readonly id: string; readonly name: string }[] };
export type ModelChoice = { readonly id: string; readonly note: string };

/** What can be called here now on a surface, by the workspace's policy; routers first where they work. */
export function useCallable(
  workspace: string,
  surface: Surface,
): { readonly models: readonly ModelChoice[]; readonly isPending: boolean } {
  const listed = usePublic<Listed>(`/v1/public/models?surface=${surface}&limit=1000`);
  const preview = usePreview("managePreviewPolicy", { params: { workspace }, query: { scope: "callable" }, body: {} });
  const takesRouters = isChat(surface);
  const routers = useManage("manageListRouters", { params: { workspace } }, { enabled: takesRouters });
  const reached = new Set(
    preview.data?.models.filter(({ endpoints }) => endpoints.some(({ after }) => after)).map(({ id }) => id) ?? [],
  );
  const models = (listed.data?.data ?? [])
    .filter(({ id }) => reached.has(id))
    .map(({ id, name }) => ({ id, note: name }));
  const named = takesRouters
    ? [
        { id: "auto", note: "The gateway chooses" },
        ...(routers.data?.data ?? []).map(({ slug }) => ({ id: slug, note: "Router" })),
      ]
    : [];
  return { models: [...models, ...named], isPending: listed.isPending || preview.isPending };
}

/** The voices a speech model has; the list of models says them to whoever has a key. */
export async function voicesOf(key: string, model: string): Promise<readonly string[]> {
  const path = `/v1/models/${model.split("/").map(encodeURIComponent).join("/")}`;
  const response = await fetch(path, { headers: { authorization: `Bearer ${key}` }, credentials: "omit" });
  const body: unknown = response.ok ? await response.json() : null;
  const voices = at(body, "svc_voices");
  return Array.isArray(voices) ? voices.map(String) : [];
}
