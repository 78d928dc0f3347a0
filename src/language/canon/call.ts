import type { Turn } from "./parts.ts";

/** One chat call, whatever dialect it came in. */
export type Call = {
  readonly model: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolDefinition[];
  readonly responseFormat: ResponseFormat;
  readonly reasoning: ReasoningWish | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly stream: boolean;
  /** Whether the client wants usage in the stream; it is metered either way. */
  readonly includeUsage: boolean;
  /** Parameters that were sent, by the name of their row in the parameter table. */
  readonly parameters: readonly string[];
};

export type ToolDefinition = { readonly name: string };

export type ResponseFormat = "text" | "json_object" | "json_schema";

export type ReasoningWish = { readonly effort: string };
