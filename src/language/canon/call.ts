import type { JsonObject } from "../../kit/json.ts";
import type { BillableExtra } from "./extras.ts";
import type { Parameter } from "./parameters.ts";
import type { CacheBreakpoint, ConversationTurn } from "./parts.ts";
import type { RoutingHints } from "./routing-hints.ts";

/** One chat request in canonical form, independent of the caller's dialect. */
export type Call = {
  readonly model: string;
  readonly turns: readonly ConversationTurn[];
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice | undefined;
  readonly responseFormat: ResponseFormat;
  readonly reasoning: ReasoningSettings | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly topK: number | undefined;
  readonly stop: readonly string[];
  readonly stream: boolean;
  /** Whether the client asked for usage in the stream; the gateway meters it either way. */
  readonly includeUsage: boolean;
  /** Parameters that the caller sent, by their name in the parameter table. */
  readonly parameters: readonly Parameter[];
  /** Sent parameters whose value requests nothing of the provider. */
  readonly neutralParameters?: readonly Parameter[] | undefined;
  /** The caller's own names of parameters that its dialect names differently. */
  readonly parameterNames?: Readonly<Partial<Record<Parameter, string>>>;
  /** Values of parameters that only the chat-completions and responses dialects can carry. */
  readonly openAiParameters?: Readonly<Partial<Record<Parameter, unknown>>>;
  /** Fields that only the caller's own dialect can express: only endpoints that speak it are eligible. */
  readonly native?: readonly string[];
  /** The first unknown field beside the history: only endpoints that receive the caller's own body are eligible. */
  readonly unknownField?: string;
  /** Fields that do not change the reply; translation drops them. */
  readonly advisory?: readonly string[];
  /** Requested features that the provider bills separately. */
  readonly extras?: readonly BillableExtra[];
  /** Paths of the fields that reference files or other resources stored at a provider. */
  readonly uploadPaths?: readonly string[];
  /** Input size from which a provider of the caller's dialect compacts the conversation first. */
  readonly compactionThresholdTokens?: number;
  /** Addressed to the gateway, never to a provider. */
  readonly routingHints?: RoutingHints;
};

export type ToolDefinition = {
  readonly name: string;
  readonly description: string | null;
  /** JSON Schema of the arguments; null: the tool takes none. */
  readonly schema: JsonObject | null;
  readonly strict: boolean | null;
  readonly cache?: CacheBreakpoint;
};

export type ToolChoice =
  | { readonly is: "auto" }
  | { readonly is: "none" }
  | { readonly is: "required" }
  | { readonly is: "named"; readonly name: string };

export type ResponseFormat =
  | { readonly is: "text" }
  | { readonly is: "json_object" }
  | {
      readonly is: "json_schema";
      readonly name: string;
      readonly description: string | null;
      readonly schema: JsonObject;
      readonly strict: boolean | null;
    };

export const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof EFFORTS)[number];

/** Requested reasoning; `budgetTokens` is set only if the caller sent a token budget. */
export type ReasoningSettings = {
  readonly effort: Effort;
  readonly budgetTokens: number | null;
  /** Dropped for models without reasoning control, instead of excluding them. */
  readonly isOptional?: true;
  /** The caller left the effort open: `effort` is sent only to models that require one. */
  readonly isEffortDefaulted?: true;
};

/** One-hour cache writes cost more than the default five minutes. */
export function usesOneHourCache({ tools, turns }: Call): boolean {
  if (tools.some(({ cache }) => cache?.ttl === "1h")) return true;
  return turns.some(({ parts }) => parts.some((part) => "cache" in part && part.cache?.ttl === "1h"));
}
