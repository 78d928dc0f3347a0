import type { ReasoningDetail, ReasoningSignature } from "./parts.ts";
import type { UpstreamProblem } from "./problem.ts";
import type { Usage } from "./usage.ts";

export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

/** A source the model names for what it wrote. */
export type Citation = {
  readonly url: string | null;
  readonly title: string | null;
  /** Where in the written text it belongs, in UTF-16 units; null when the provider does not say. */
  readonly start: number | null;
  readonly end: number | null;
};

/**
 * An answer as it comes into being. A whole answer is the same list of events at once, so that a stream and a reply
 * of one dialect are read by one reader and can be held against each other.
 */
export type ReplyEvent =
  | { readonly is: "begin"; readonly upstreamId: string | null }
  | { readonly is: "text"; readonly text: string }
  | { readonly is: "refusal"; readonly text: string }
  /** A readable piece of the reasoning. */
  | { readonly is: "reasoning"; readonly text: string }
  /** A block of reasoning is complete, with what must be sent back unchanged. */
  | { readonly is: "reasoning_detail"; readonly detail: ReasoningDetail }
  /** A tool call opens; `index` counts tool calls from 0. */
  | {
      readonly is: "tool_call";
      readonly index: number;
      readonly id: string;
      readonly name: string;
      readonly signature: ReasoningSignature | null;
    }
  | { readonly is: "tool_arguments"; readonly index: number; readonly text: string }
  | { readonly is: "citation"; readonly citation: Citation }
  /** Figures so far: the last ones win, nothing is added up. */
  | { readonly is: "figures"; readonly usage: Usage }
  /** `stopSequence`: the caller's own sequence that ended it, where the provider says which. */
  | { readonly is: "finish"; readonly reason: FinishReason; readonly stopSequence?: string }
  | { readonly is: "problem"; readonly problem: UpstreamProblem }
  /** The dialect's own end marker. */
  | { readonly is: "end" };
