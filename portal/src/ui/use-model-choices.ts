import { usePublic } from "../api/hooks.ts";
import { useWorkspace } from "../url-state.ts";
import type { Availability } from "./availability-badge.tsx";
import type { Choice } from "./choice-list.tsx";

type ModelRow = Availability & {
  readonly id: string;
  readonly name: string;
  readonly surfaces: readonly string[];
};

/** Options for all catalogue models, or for those of the given surfaces; what the workspace can call comes first. */
export function useModelChoices(surfaces?: readonly string[]): readonly Choice[] {
  const { workspace } = useWorkspace();
  const query = new URLSearchParams({
    limit: "1000",
    workspace,
    available_first: "true",
    fields: "name,surfaces,available,unavailable",
  });
  const models = usePublic<{ readonly data: readonly ModelRow[] }>(`/v1/public/models?${query}`);
  const fits = (model: ModelRow) => surfaces === undefined || model.surfaces.some((one) => surfaces.includes(one));
  return (models.data?.data ?? []).filter(fits).map(({ id, name, available, unavailable }) => ({
    value: id,
    label: id,
    note: name === id ? undefined : name,
    availability: { available, unavailable },
  }));
}
