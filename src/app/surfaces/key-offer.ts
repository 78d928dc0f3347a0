import type { Endpoint, EndpointFeatures, Model } from "../../domain/catalogue/catalogue.ts";
import { SURFACES, type Surface } from "../../domain/record/record.ts";
import type { Offer } from "./catalogue-select.ts";

/**
 * A model as a key can use it. Its endpoints are those that the key can call, each with the surfaces on which it can;
 * what is said of the model is what at least one of them does.
 */
export function keyOffer(model: Model, endpoints: readonly Endpoint[]): Offer {
  const surfaces = SURFACES.filter((surface) => endpoints.some((endpoint) => endpoint.surfaces.includes(surface)));
  const capabilities = model.capabilities.filter((slug) => {
    const surface = SURFACE_OF.get(slug);
    if (surface !== undefined) return surface !== null && surfaces.includes(surface);
    const needs = FEATURES_OF.get(slug) ?? [];
    // What an endpoint does not state is the model's own word.
    return endpoints.some(({ features }) => needs.every((feature) => features[feature] !== false));
  });
  return { model: { ...model, surfaces, capabilities }, endpoints };
}

/** Capabilities that are surfaces; null: one that the gateway does not have. */
const SURFACE_OF: ReadonlyMap<string, Surface | null> = new Map([
  ["decisions", "decisions"],
  ["embeddings", "embeddings"],
  ["reranking", null],
  ["speech", "speech"],
  ["transcription", "transcriptions"],
]);

/** Capabilities that an endpoint may deny, with the features that they need. */
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
