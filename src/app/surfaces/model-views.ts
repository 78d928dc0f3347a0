import type { AgentModel, ModelObject } from "../../contract/schemas/models.ts";
import { type CatalogueSnapshot, type Endpoint, type Model, supportsEffort } from "../../domain/catalogue/catalogue.ts";
import { AUDIO_FORMATS } from "../../domain/catalogue/speech-support.ts";
import { effortsOf } from "../../domain/routing/filter.ts";
import { knownCountries } from "../../domain/routing/policy.ts";
import { cheapest, type Offer } from "./catalogue-select.ts";
import { levelsOf, unique } from "./catalogue-views.ts";
import { type PriceContext, priceView } from "./price-view.ts";
import { type SpeechEndpoint, speechEndpointOf } from "./speech-capability.ts";

export type ModelContext = PriceContext & { readonly nowMs: number; readonly currency: string };

export function modelObject({ model, endpoints }: Offer, context: ModelContext): ModelObject {
  const { snapshot, nowMs } = context;
  const { surfaces } = model;
  const lowest = cheapest(endpoints, snapshot, nowMs);
  const levels = levelsOf(endpoints.map(({ sovereignty }) => sovereignty.level));
  const releasedAtMs = releaseOf(model);
  const contextLength = bestLimit(
    model.contextTokens,
    endpoints.map(({ limits }) => limits.contextTokens),
  );
  const outputLimit = bestLimit(
    model.maxOutputTokens,
    endpoints.map(({ limits }) => limits.maxOutputTokens),
  );
  const inputLimit = bestLimit(
    contextLength,
    endpoints.map(({ limits }) => limits.maxInputTokens),
  );
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
    context_length: contextLength,
    max_output_tokens: outputLimit,
    max_input_tokens: inputLimit,
    max_tokens: outputLimit,
    knowledge_cutoff: model.knowledgeCutoff,
    modalities_in: [...model.modalitiesIn],
    modalities_out: [...model.modalitiesOut],
    pricing: lowest === undefined ? null : priceView(lowest.price, context),
    svc_capabilities: [...model.capabilities],
    svc_surfaces: [...surfaces],
    svc_levels: levels,
    svc_countries: unique(endpoints.flatMap(({ sovereignty }) => knownCountries(sovereignty))),
    svc_providers: unique(endpoints.map(({ provider }) => provider)),
    svc_family: model.family,
    svc_quality: model.quality?.score ?? null,
    svc_sandbox: model.sandbox,
    ...(surfaces.includes("decisions") ? { svc_decision_images: endpoints.some(takesDecisionImages) } : {}),
    ...(surfaces.includes("speech") ? speechView(endpoints, nowMs) : {}),
  };
}

function takesDecisionImages({ surfaces, decisions }: Endpoint): boolean {
  return surfaces.includes("decisions") && decisions?.images != null;
}

/** Both dialects require a time; the epoch means "unknown", as Anthropic documents it. */
function releaseOf({ releaseDate }: Model): number {
  return releaseDate === null ? 0 : Date.parse(releaseDate);
}

/** The best limit over the key's endpoints; an endpoint never exceeds the model. */
function bestLimit(ofModel: number | null, ofEndpoints: readonly (number | null)[]): number | null {
  if (ofEndpoints.some((value) => value === null)) return ofModel;
  const best = Math.max(...ofEndpoints.filter((value) => value !== null));
  return ofModel === null ? best : Math.min(ofModel, best);
}

function descriptionOf(model: Model, levels: readonly string[], snapshot: CatalogueSnapshot): string {
  const creator = snapshot.creators.get(model.creator)?.name ?? model.creator;
  return `${model.sandbox ? "Simulated. " : ""}${creator}; sovereignty ${levels.join(", ")}`;
}

/** Choices of coding agents; `xhigh` only for models that declare it. */
const LEVELS = [
  { effort: "low", description: "Short thinking, quick answers" },
  { effort: "medium", description: "Balanced" },
  { effort: "high", description: "Long thinking for hard problems" },
  { effort: "xhigh", description: "Longer thinking for the hardest problems" },
] as const;
const USUAL_LEVELS: readonly string[] = ["low", "medium", "high"];
const LEVEL_DEFAULT = "medium";

/** Agents replace their own instructions by these, so the text must not be empty. */
const INSTRUCTIONS = [
  "You are a coding agent that works in the user's terminal and repository.",
  "Keep going until the task is done; ask only when a choice is the user's to make.",
  "Use the tools you are given for everything that can be looked up or run, and never guess what a file or a command says.",
  "Read before you change. Keep changes small, in the style of the code around them, and leave alone what you were not asked about.",
  "Do not undo work that is not yours, and do not commit, push or delete unless asked.",
  "Run the tests and checks that exist and fix what you broke. When something fails, find the cause first.",
  "Before a longer step say in one sentence what you are about to do. At the end say briefly and truthfully what you did, what you checked and what is left.",
].join("\n");

const TRUNCATION_BYTES = 10_000;

function effortLevels(model: Model, effortEndpoints: readonly Endpoint[]): AgentModel["supported_reasoning_levels"] {
  const supported = effortEndpoints.map((endpoint): readonly string[] => effortsOf(endpoint, model) ?? USUAL_LEVELS);
  return LEVELS.filter(({ effort }) => supported.some((words) => words.includes(effort)));
}

export function agentModel({ model, endpoints }: Offer, object: ModelObject, priority: number): AgentModel {
  const { display_name, description, context_length } = object;
  const effortEndpoints = endpoints.filter((endpoint) => supportsEffort(endpoint, model));
  const supportsReasoning = effortEndpoints.length > 0;
  const levels = effortLevels(model, effortEndpoints);
  return {
    slug: model.id,
    display_name,
    description,
    default_reasoning_level: (levels.find(({ effort }) => effort === LEVEL_DEFAULT) ?? levels[0])?.effort ?? null,
    supported_reasoning_levels: levels,
    shell_type: "shell_command",
    visibility: "list",
    supported_in_api: true,
    priority,
    upgrade: null,
    base_instructions: INSTRUCTIONS,
    supports_reasoning_summaries: supportsReasoning,
    // Only native endpoints of the responses dialect accept the summary parameter.
    supports_reasoning_summary_parameter: supportsReasoning && endpoints.every(({ responsesApi }) => responsesApi),
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

type SpeechView = Pick<ModelObject, "svc_max_input_chars" | "svc_voices" | "svc_speech_params">;

/** Speech fields of a model object: whether all, some or none of its endpoints support each setting. */
function speechView(endpoints: readonly Endpoint[], nowMs: number): SpeechView {
  const candidates = endpoints.flatMap((endpoint) => speechEndpointOf(endpoint, nowMs) ?? []);
  const supportedBy = (takes: (candidate: SpeechEndpoint) => boolean) => {
    const supporting = candidates.filter(takes).length;
    return supporting === 0 ? "none" : supporting === candidates.length ? "all" : "some";
  };
  return {
    ...limitOf(candidates),
    svc_voices: unique(candidates.flatMap(({ facts }) => facts.voices)),
    svc_speech_params: {
      ...Object.fromEntries(
        AUDIO_FORMATS.map((format) => [format, supportedBy(({ formats }) => formats.includes(format))] as const),
      ),
      speed: supportedBy(({ facts }) => facts.speed),
      instructions: supportedBy(({ facts }) => facts.instructions),
    },
  };
}

/** The largest input limit; absent when an endpoint declares none. */
function limitOf(candidates: readonly SpeechEndpoint[]): Pick<SpeechView, "svc_max_input_chars"> {
  const limits = candidates.map(({ facts }) => facts.maxInputChars);
  const stated = limits.filter((limit) => limit !== null);
  return stated.length === 0 || stated.length < limits.length ? {} : { svc_max_input_chars: Math.max(...stated) };
}
