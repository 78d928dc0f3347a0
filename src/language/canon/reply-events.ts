import type { ReasoningDetail, ReasoningSignature } from "./parts.ts";
import type { UpstreamProblem } from "./upstream-problem.ts";
import type { Usage } from "./usage.ts";

export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

/** A source that the model cites. */
export type Citation = {
  readonly url: string | null;
  readonly title: string | null;
  /** Position in the output text in UTF-16 units; null if the provider does not state it. */
  readonly start: number | null;
  readonly end: number | null;
  /** The cited passage of the source, if the provider quotes it. */
  readonly excerpt?: string;
};

/**
 * One step of a reply. A whole reply is the complete list of events, so each dialect needs one reader for streams and
 * whole replies.
 */
export type ReplyEvent =
  | { readonly is: "begin"; readonly upstreamId: string | null }
  | { readonly is: "text"; readonly text: string }
  | { readonly is: "refusal"; readonly text: string }
  | { readonly is: "reasoning"; readonly text: string }
  /** A reasoning block is complete; `detail` must be sent back unchanged. */
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
  /** `path` names the citation in the provider's reply, for callers that it cannot be attached for. */
  | { readonly is: "citation"; readonly citation: Citation; readonly path: string }
  /** Cumulative usage: the last event replaces earlier ones. */
  | { readonly is: "usage"; readonly usage: Usage }
  /** `stopSequence`: the caller's sequence that ended the reply, if the provider reports it. */
  | { readonly is: "finish"; readonly reason: FinishReason; readonly stopSequence?: string }
  /**
   * The reply has a member that the caller's dialect cannot carry; `path` in the provider's own names, never its value.
   * `isContent`: the member is model output.
   */
  | { readonly is: "omitted"; readonly path: string; readonly isContent?: boolean }
  | { readonly is: "problem"; readonly problem: UpstreamProblem }
  /** The dialect's end marker. */
  | { readonly is: "end" };
