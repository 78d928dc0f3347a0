import { usePublic } from "../api/hooks.ts";
import type { Choice } from "./choice-list.tsx";

type PublicModel = { readonly id: string; readonly name: string; readonly surfaces: readonly string[] };

/** Options for all catalogue models, or for those of the given surfaces. */
export function useModelChoices(surfaces?: readonly string[]): readonly Choice[] {
  const models = usePublic<{ readonly data: readonly PublicModel[] }>("/v1/public/models?limit=1000");
  const fits = (model: PublicModel) => surfaces === undefined || model.surfaces.some((one) => surfaces.includes(one));
  return (models.data?.data ?? []).filter(fits).map(({ id, name }) => ({
    value: id,
    label: id,
    note: name === id ? undefined : name,
  }));
}
