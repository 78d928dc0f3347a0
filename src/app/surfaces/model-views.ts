import type { AgentModel, ModelObject } from "../../contract/schemas/models.ts";
import type { Model, Snapshot } from "../../domain/catalogue/catalogue.ts";
import type { Surface } from "../../domain/record/record.ts";
import { cheapest, type Offer } from "./catalogue-select.ts";
import { levelsOf, unique } from "./catalogue-views.ts";
import { priceView } from "./price-view.ts";

/** A model with the endpoints a key may use, and the surfaces it may use them on. */
export type KeyOffer = Offer & { readonly surfaces: readonly Surface[] };

export type ModelContext = { readonly snapshot: Snapshot; readonly nowMs: number; readonly currency: string };

export function modelObject({ model, endpoints, surfaces }: KeyOffer, context: ModelContext): ModelObject {
  const { snapshot, nowMs, currency } = context;
  const lowest = cheapest(endpoints, snapshot, nowMs);
  const levels = levelsOf(endpoints.map(({ sovereignty }) => sovereignty.level));
  const releasedAtMs = releaseOf(model);
  return {
    id: model.id,
    object: "model",
    type: "model",
    created: Math.floor(releasedAtMs / 1000),
    created_at: new Date(releasedAtMs).toISOString(),
    owned_by: model.creator,
    name: model.name,
    display_name: model.name,
    description: descriptionOf(model, levels, snapshot),
    context_length: largest(
      model.contextTokens,
      endpoints.map(({ limits }) => limits.contextTokens),
    ),
    max_output_tokens: largest(
      model.maxOutputTokens,
      endpoints.map(({ limits }) => limits.maxOutputTokens),
    ),
    knowledge_cutoff: model.knowledgeCutoff,
    modalities_in: [...model.modalitiesIn],
    modalities_out: [...model.modalitiesOut],
    pricing: lowest === undefined ? null : priceView(lowest.price, { snapshot, currency }),
    svc_capabilities: [...model.capabilities],
    svc_surfaces: [...surfaces],
    svc_levels: levels,
    svc_countries: unique(endpoints.flatMap(({ sovereignty }) => sovereignty.countries)),
    svc_providers: unique(endpoints.map(({ provider }) => provider)),
    svc_family: model.family,
    svc_quality: model.quality?.score ?? null,
    svc_sandbox: model.sandbox,
  };
}

/** Readers of both dialects need a time; the epoch stands for "not known", as one of them documents. */
function releaseOf({ releaseDate }: Model): number {
  return releaseDate === null ? 0 : Date.parse(releaseDate);
}

/** What the key can get at best: an endpoint may offer less than the model can do, never more. */
function largest(ofModel: number | null, ofEndpoints: readonly (number | null)[]): number | null {
  if (ofEndpoints.some((value) => value === null)) return ofModel;
  const best = Math.max(...ofEndpoints.filter((value) => value !== null));
  return ofModel === null ? best : Math.min(ofModel, best);
}

function descriptionOf(model: Model, levels: readonly string[], snapshot: Snapshot): string {
  const creator = snapshot.creators.get(model.creator)?.name ?? model.creator;
  return `${model.sandbox ? "Simulated. " : ""}${creator}; sovereignty ${levels.join(", ")}`;
}

const EFFORTS = [
  { effort: "low", description: "Short thinking, quick answers" },
  { effort: "medium", description: "Balanced" },
  { effort: "high", description: "Long thinking for hard problems" },
];

/** Agents that read a model from here take their instructions from here too, so there must be some. */
const INSTRUCTIONS = [
  "You are a coding agent that works in the user's terminal and repository.",
  "Read before you change, keep changes small and in the style of the code around them, and run the tests that exist.",
  "Use the tools you are given; say what you did and what is left, briefly and truthfully.",
].join(" ");

const TRUNCATION_BYTES = 10_000;

export function agentModel({ model, endpoints }: KeyOffer, object: ModelObject, priority: number): AgentModel {
  const { display_name, description, context_length } = object;
  const reasons = model.capabilities.includes("reasoning_control");
  return {
    slug: model.id,
    display_name,
    description,
    default_reasoning_level: reasons ? "medium" : null,
    supported_reasoning_levels: reasons ? EFFORTS : [],
    shell_type: "shell_command",
    visibility: "list",
    supported_in_api: true,
    priority,
    upgrade: null,
    base_instructions: INSTRUCTIONS,
    supports_reasoning_summaries: false,
    support_verbosity: false,
    default_verbosity: null,
    apply_patch_tool_type: null,
    truncation_policy: { mode: "bytes", limit: TRUNCATION_BYTES },
    supports_parallel_tool_calls: endpoints.every(({ features }) => features.parallelTools === true),
    context_window: context_length,
    experimental_supported_tools: [],
    input_modalities: model.capabilities.includes("image_input") ? ["text", "image"] : ["text"],
  };
}
