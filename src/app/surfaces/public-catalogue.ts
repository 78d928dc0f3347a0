import type { CatalogueSnapshot, Endpoint, Family, Model } from "../../domain/catalogue/catalogue.ts";

export function shownModels(snapshot: CatalogueSnapshot): Model[] {
  return [...snapshot.models.values()].filter(({ hidden }) => !hidden);
}

export function shownEndpoints(snapshot: CatalogueSnapshot, { id }: Pick<Model, "id">): Endpoint[] {
  return (snapshot.endpointsByModel.get(id) ?? []).filter(({ status }) => status !== "retired");
}

/** Hides a family whose models are all hidden. */
export function shownFamilies(snapshot: CatalogueSnapshot): Family[] {
  const models = [...snapshot.models.values()];
  return [...snapshot.families.values()].filter(({ slug }) => {
    const own = models.filter(({ family }) => family === slug);
    return own.length === 0 || own.some(({ hidden }) => !hidden);
  });
}
