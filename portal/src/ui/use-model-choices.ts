import { usePublic } from "../api/hooks.ts";
import type { Choice } from "./choice-list.tsx";

type PublicModels = { readonly data: readonly { readonly id: string; readonly name: string }[] };

/** Every model of the catalogue, to choose from. */
export function useModelChoices(): readonly Choice[] {
  const models = usePublic<PublicModels>("/v1/public/models?limit=1000");
  return (models.data?.data ?? []).map(({ id, name }) => ({
    value: id,
    label: id,
    note: name === id ? undefined : name,
  }));
}
