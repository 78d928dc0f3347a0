import { z } from "zod";
import {
  Country,
  Cursor,
  Filters,
  LevelValue,
  Limit,
  ModelSortValue,
  PriceView,
  SurfaceValue,
} from "./catalogue-values.ts";

const Support = z.enum(["all", "some", "none"]);

/** One model for three kinds of readers: the chat-completions dialect, the messages dialect and the `svc_*` extensions. */
export const ModelObject = z
  .object({
    id: z.string().meta({ description: "What to send as `model`.", example: "sandbox/chat" }),
    object: z.literal("model"),
    type: z.literal("model"),
    created: z.int().meta({ description: "Release as Unix seconds; 0 when not known." }),
    created_at: z.string().meta({ description: "The same as ISO 8601; the epoch when not known." }),
    owned_by: z.string().meta({ description: "Creator." }),
    name: z.string(),
    display_name: z.string(),
    description: z.string(),
    context_length: z.int().nullable(),
    max_output_tokens: z.int().nullable(),
    max_input_tokens: z
      .int()
      .nullable()
      .meta({ description: "As the messages dialect says it: what a prompt may hold." }),
    max_tokens: z.int().nullable().meta({ description: "As the messages dialect says it: `max_output_tokens` again." }),
    knowledge_cutoff: z.string().nullable(),
    modalities_in: z.array(z.string()),
    modalities_out: z.array(z.string()),
    pricing: PriceView.nullable().meta({
      description:
        "Cheapest endpoint this key may use, in the workspace's currency: by tokens, of models that only speak or transcribe by a minute of audio.",
    }),
    svc_capabilities: z.array(z.string()).meta({
      description:
        "Slugs of `/public/capabilities`: what the key can use of the model. Left out are surfaces on which it cannot call it, and what every endpoint that it can call denies.",
    }),
    svc_surfaces: z.array(SurfaceValue).meta({ description: "Where this key can call the model now." }),
    svc_levels: z.array(LevelValue).meta({ description: "Sovereignty levels of the endpoints this key may use." }),
    svc_countries: z.array(Country).meta({
      description: "Where the endpoints this key may use compute, as far as that is known.",
    }),
    svc_providers: z.array(z.string()),
    svc_family: z.string(),
    svc_quality: z.number().nullable(),
    svc_sandbox: z.boolean().meta({ description: "Simulated: answers are made up." }),
    svc_decision_images: z.boolean().optional().meta({ description: "On models with the decisions surface." }),
    svc_max_input_chars: z.int().optional().meta({ description: "On speech models whose endpoint states a limit." }),
    svc_voices: z.array(z.string()).optional().meta({ description: "On models with the speech surface." }),
    svc_speech_params: z.record(z.string(), Support).optional().meta({
      description: "On models with the speech surface: for each format, `speed` and `instructions`.",
    }),
  })
  .meta({ id: "Model" });
export type ModelObject = z.infer<typeof ModelObject>;

/** What coding agents of the responses dialect read to know a model. */
export const AgentModel = z
  .object({
    slug: z.string(),
    display_name: z.string(),
    description: z.string(),
    default_reasoning_level: z.string().nullable(),
    supported_reasoning_levels: z.array(z.object({ effort: z.string(), description: z.string() })),
    shell_type: z.literal("shell_command"),
    visibility: z.literal("list"),
    supported_in_api: z.literal(true),
    priority: z.int(),
    upgrade: z.null(),
    base_instructions: z.string(),
    supports_reasoning_summaries: z.boolean(),
    supports_reasoning_summary_parameter: z.boolean(),
    support_verbosity: z.literal(false),
    default_verbosity: z.null(),
    apply_patch_tool_type: z.null(),
    truncation_policy: z.object({ mode: z.enum(["bytes", "tokens"]), limit: z.int() }),
    supports_parallel_tool_calls: z.boolean(),
    context_window: z.int().nullable(),
    experimental_supported_tools: z.array(z.string()),
    input_modalities: z.array(z.enum(["text", "image"])),
  })
  .meta({ id: "AgentModel" });
export type AgentModel = z.infer<typeof AgentModel>;

export const ModelList = z
  .object({
    object: z.literal("list"),
    data: z.array(ModelObject),
    models: z.array(AgentModel).meta({
      description: "The chat models of this page in the form that coding agents of the responses dialect read.",
    }),
    next: z
      .string()
      .nullable()
      .meta({ description: "Cursor of the next page; null on the last one, and with `before_id`." }),
    has_more: z
      .boolean()
      .meta({ description: "Whether more follow this page; with `before_id`, whether more come before it." }),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  })
  .meta({ id: "ModelList" });
export type ModelList = z.infer<typeof ModelList>;

export const ModelListQuery = z.object({
  ...Filters,
  sort: ModelSortValue.default("id"),
  limit: Limit.optional().meta({ description: "Models on one page. Absent: all of them." }),
  cursor: Cursor.optional(),
  after_id: z.string().min(1).max(256).optional().meta({
    description: "The messages dialect's cursor: the last id of the page before.",
  }),
  before_id: z.string().min(1).max(256).optional().meta({
    description: "The same backwards: the first id of the page after. Not with `after_id` or `cursor`.",
  }),
});
