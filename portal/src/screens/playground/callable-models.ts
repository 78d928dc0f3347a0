import type { PublicModel } from "../../../../src/contract/schemas/catalogue.ts";
import type { PriceView } from "../../../../src/contract/schemas/catalogue-values.ts";
import { useManage, usePublic } from "../../api/hooks.ts";
import { useMe } from "../../api/me.ts";
import type { ComboboxOption } from "../../ui/combobox.tsx";
import { isChat, type Surface } from "./draft.ts";
import { valueAt } from "./model-reply.ts";

const FIELDS = [
  "name",
  "levels",
  "countries",
  "lowest_price",
  "context_tokens",
  "capabilities",
  "available",
  "unavailable",
] as const;
export type ListedModel = Pick<PublicModel, "id" | Exclude<(typeof FIELDS)[number], "lowest_price">> & {
  readonly lowest_price: PriceView | null;
};

/** A model of the catalogue, or a router: `model` is undefined. */
export type ModelOption = ComboboxOption & { readonly model?: ListedModel | undefined };
export type ModelOptions = { readonly options: readonly ModelOption[]; readonly isPending: boolean };

/** Models of a surface, those that the workspace can call first, and routers on chat surfaces. */
export function useModelOptions(workspace: string, surface: Surface): ModelOptions {
  const currency = useMe().data?.workspaces.find(({ slug }) => slug === workspace)?.currency;
  const query = new URLSearchParams({
    surface,
    workspace,
    available_first: "true",
    limit: "1000",
    fields: FIELDS.join(","),
    ...(currency === undefined ? {} : { currency }),
  });
  const catalogue = usePublic<{ readonly data: readonly ListedModel[] }>(`/v1/public/models?${query}`);
  const supportsRouters = isChat(surface);
  const routers = useManage("manageListRouters", { params: { workspace } }, { enabled: supportsRouters });
  const models = (catalogue.data?.data ?? []).map((model) => ({
    value: model.id,
    label: model.id,
    description: model.name,
    searchTerms: [...model.levels, ...model.countries].join(" "),
    group: model.available === false ? "Not available" : "Available",
    model,
  }));
  const routerOptions = [
    { value: "auto", label: "auto", description: "Automatic routing", group: "Routers" },
    ...(routers.data?.data ?? []).map(({ slug }) => ({ value: slug, label: slug, group: "Routers" })),
  ];
  const isAvailable = ({ model }: ModelOption) => model?.available !== false;
  return {
    options: [
      ...models.filter(isAvailable),
      ...(supportsRouters ? routerOptions : []),
      ...models.filter((option) => !isAvailable(option)),
    ],
    isPending: catalogue.isPending,
  };
}

/** IDs of the models and routers that the workspace can call now. */
export function useCallableModels(workspace: string, surface: Surface): readonly string[] {
  const query = new URLSearchParams({ surface, workspace, available: "true", limit: "1000", fields: "name" });
  const catalogue = usePublic<{ readonly data: readonly { readonly id: string }[] }>(`/v1/public/models?${query}`);
  const supportsRouters = isChat(surface);
  const routers = useManage("manageListRouters", { params: { workspace } }, { enabled: supportsRouters });
  const models = (catalogue.data?.data ?? []).map(({ id }) => id);
  return supportsRouters ? [...models, "auto", ...(routers.data?.data ?? []).map(({ slug }) => slug)] : models;
}

/** Details of a model that the workspace can't call, with the reason per endpoint. */
export function useModelDetails(workspace: string, id: string): PublicModel | undefined {
  const path = id.split("/").map(encodeURIComponent).join("/");
  return usePublic<PublicModel>(`/v1/public/models/${path}?${new URLSearchParams({ workspace })}`).data;
}

/** The voices of a speech model, from the authenticated model list. */
export async function fetchVoices(key: string, model: string): Promise<readonly string[]> {
  const path = `/v1/models/${model.split("/").map(encodeURIComponent).join("/")}`;
  const response = await fetch(path, { headers: { authorization: `Bearer ${key}` }, credentials: "omit" });
  const body: unknown = response.ok ? await response.json() : null;
  const voices = valueAt(body, "svc_voices");
  return Array.isArray(voices) ? voices.map(String) : [];
}
