import type { JsonObject } from "../../kit/json.ts";

/** A validated answer to one question. */
export type DecisionAnswer =
  | { readonly type: "noul"; readonly noul: number }
  | {
      readonly type: "choice";
      readonly choice: string;
      readonly confidence: number;
      /** By option name; absent when the provider reports none. */
      readonly probabilities: ReadonlyMap<string, number> | undefined;
    }
  | {
      readonly type: "score";
      readonly score: number;
      readonly confidence: number;
      /** One per level, lowest first. */
      readonly probabilities: readonly number[];
      /** The provider's fields as sent; undefined when its format differs from the caller's. */
      readonly providerFields: JsonObject | undefined;
    }
  /** The provider declined to answer. */
  | { readonly type: "refusal" };

/** A provider's answer to one question before validation. */
export type RawAnswer = {
  readonly type: "noul" | "choice" | "score" | "refusal" | "other";
  /** P(yes), the chosen option, or the weighted score. */
  readonly value?: unknown;
  readonly probabilities?: ReadonlyMap<string, unknown> | undefined;
  readonly confidence?: unknown;
  /** Probability mass of all labels together; absent when not reported. */
  readonly labelMass?: unknown;
  readonly argmaxIsLabel?: unknown;
  /** Fields of a score that are passed on; absent: they are built from the decoded values. */
  readonly providerFields?: JsonObject;
};

/** A provider's decoded reply before validation. */
export type RawDecisionReply = {
  /** By question id, as entries so that a duplicate is detected. */
  readonly answers: readonly (readonly [id: string, answer: RawAnswer])[];
  readonly usage: RawDecisionUsage | undefined;
  readonly upstreamId: string | null;
  /** Paths of members that callers do not receive, without the names of questions; undefined: none. */
  readonly omitted: readonly string[] | undefined;
  /** The provider did not read the full input. */
  readonly isTruncated: boolean;
};

export type RawDecisionUsage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
};
