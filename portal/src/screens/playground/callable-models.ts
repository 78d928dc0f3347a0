import { useManage, usePreview, usePublic } from "../../api/hooks.ts";
import { isChat, type Surface } from "./draft.ts";
import { valueAt } from "./model-reply.ts";

type ModelList = { readonly data: readonly { readonly id: string; readonly name: string }[] };
export type ModelChoice = { readonly id: string; readonly note: string };

/** Models of a surface that the workspace can call now, plus routers on chat surfaces. */
export function useCallableModels(
  workspace: string,
  surface: Surface,
): { readonly models: readonly ModelChoice[]; readonly isPending: boolean } {
  const catalogue = usePublic<ModelList>(`/v1/public/models?surface=${surface}&limit=1000`);
  const preview = usePreview("managePreviewPolicy", { params: { workspace }, query: { scope: "callable" }, body: {} });
  const supportsRouters = isChat(surface);
  const routers = useManage("manageListRouters", { params: { workspace } }, { enabled: supportsRouters });
  const callableIds = new Set(
    preview.data?.models.filter(({ endpoints }) => endpoints.some(({ after }) => after)).map(({ id }) => id) ?? [],
  );
  const models = (catalogue.data?.data ?? [])
    .filter(({ id }) => callableIds.has(id))
    .map(({ id, name }) => ({ id, note: name }));
  const routerChoices = supportsRouters
    ? [
        { id: "auto", note: "Automatic routing" },
        ...(routers.data?.data ?? []).map(({ slug }) => ({ id: slug, note: "Router" })),
      ]
    : [];
  return { models: [...models, ...routerChoices], isPending: catalogue.isPending || preview.isPending };
}

/** The voices of a speech model, from the authenticated model list. */
export async function fetchVoices(key: string, model: string): Promise<readonly string[]> {
  const path = `/v1/models/${model.split("/").map(encodeURIComponent).join("/")}`;
  const response = await fetch(path, { headers: { authorization: `Bearer ${key}` }, credentials: "omit" });
  const body: unknown = response.ok ? await response.json() : null;
  const voices = valueAt(body, "svc_voices");
  return Array.isArray(voices) ? voices.map(String) : [];
}
