import type { Endpoint, EndpointFeatures, Model } from "../../domain/catalogue/catalogue.ts";
import { SURFACES, type Surface } from "../../domain/record/record.ts";
import type { Offer } from "./catalogue-select.ts";

/**
 * A model as a key sees it: only the callable endpoints, with the surfaces on which they can be called, and the capabilities
 * that at least one of them has.
 */
export function keyOffer(model: Model, endpoints: readonly Endpoint[]): Offer {
  const surfaces = SURFACES.filter((surface) => endpoints.some((endpoint) => endpoint.surfaces.includes(surface)));
  const capabilities = model.capabilities.filter((slug) => {
    const surface = SURFACE_OF.get(slug);
    if (surface !== undefined) return surface !== null && surfaces.includes(surface);
    const needs = FEATURES_OF.get(slug) ?? [];
    // An endpoint that declares nothing has the model's capabilities.
    return endpoints.some(({ features }) => needs.every((feature) => features[feature] !== false));
  });
  return { model: { ...model, surfaces, capabilities }, endpoints };
}

/** Capabilities that are surfaces; null: a surface that the gateway does not serve. */
const SURFACE_OF: ReadonlyMap<string, Surface | null> = new Map([
  ["decisions", "decisions"],
  ["embeddings", "embeddings"],
  ["reranking", null],
  ["speech", "speech"],
  ["transcription", "transcriptions"],
]);

/** Endpoint features that each capability needs. */
const FEATURES_OF: ReadonlyMap<string, readonly (keyof EndpointFeatures)[]> = new Map([
  ["image_input", ["imageInput"]],
  ["json_schema", ["jsonSchema"]],
  ["logprobs", ["logprobs"]],
  ["parallel_tools", ["tools", "parallelTools"]],
  ["prompt_caching", ["promptCaching"]],
  ["reasoning", ["reasoning"]],
  ["reasoning_control", ["reasoning", "reasoningControl"]],
  ["sampling_control", ["sampling"]],
  ["tools", ["tools"]],
  ["vision", ["imageInput"]],
]);
