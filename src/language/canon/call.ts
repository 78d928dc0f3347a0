import type { JsonObject } from "../../kit/json.ts";
import type { BillableExtra } from "./extras.ts";
import type { Parameter } from "./parameters.ts";
import type { CacheBreakpoint, ConversationTurn } from "./parts.ts";
import type { RoutingHints } from "./routing-hints.ts";

/** One chat call, whatever dialect it came in. */
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
  /** Whether the client wants usage in the stream; it is metered either way. */
  readonly includeUsage: boolean;
  /** Parameters that were sent, by the name of their row in the parameter table. */
  readonly parameters: readonly Parameter[];
  /** Those of them that say what holds without them too; absent for most. */
  readonly defaultValued?: readonly Parameter[] | undefined;
  /** Where the caller's dialect has another name for such a row. */
  readonly parameterNames?: Readonly<Partial<Record<Parameter, string>>>;
  /** Values of rows that only the dialects of chat completions and of responses have a place for, by the name of the row. */
  readonly openAiParameters?: Readonly<Partial<Record<Parameter, unknown>>>;
  /** Fields that no other dialect than the caller's own can say: only an endpoint that speaks it can be asked. */
  readonly native?: readonly string[];
  /** Fields that change nothing of the answer, and are left out where the dialect has to be translated. */
  readonly advisory?: readonly string[];
  /** What is billed apart where it is had; absent for most. */
  readonly extras?: readonly BillableExtra[];
  /** Where it names files and other things that a provider keeps; absent where the parts of turns tell all of them. */
  readonly uploadPaths?: readonly string[];
  /** From so many tokens of input on a provider of the caller's own dialect is to shorten the conversation first. */
  readonly compactionThresholdTokens?: number;
  /** What is asked of the gateway itself. */
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

/** How hard the model should think; `budgetTokens` only where the caller gave a budget instead of a word. */
export type ReasoningSettings = {
  readonly effort: Effort;
  readonly budgetTokens: number | null;
  /** A model that cannot be told is asked without it, instead of not at all. */
  readonly isOptional?: true;
  /** The caller left the word to the model: `effort` is told only to who has to be told one. */
  readonly isEffortDefaulted?: true;
};
