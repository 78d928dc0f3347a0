import type { JsonObject } from "../../kit/json.ts";

/** A question that was answered in the type asked, checked to the last number. */
export type DecisionAnswer =
  | { readonly type: "noul"; readonly noul: number }
  | {
      readonly type: "choice";
      readonly choice: string;
      readonly confidence: number;
      /** By the names of the options; absent where the provider tells none. */
      readonly probabilities: ReadonlyMap<string, number> | undefined;
    }
  | {
      readonly type: "score";
      readonly score: number;
      readonly confidence: number;
      /** One for each level, lowest first. */
      readonly probabilities: readonly number[];
      /** The provider's own fields, as it sent them; undefined where its interface has other ones than the caller's. */
      readonly providerFields: JsonObject | undefined;
    }
  /** The provider would not answer this one. */
  | { readonly type: "refusal" };

/** What a provider said of one question, by its own words; nothing of it is believed yet. */
export type RawAnswer = {
  readonly type: "noul" | "choice" | "score" | "refusal" | "other";
  /** P(yes), the option picked, or the weighted score. */
  readonly value?: unknown;
  readonly probabilities?: ReadonlyMap<string, unknown> | undefined;
  readonly confidence?: unknown;
  /** How much of the model's mind the labels had at all; absent where it is not told. */
  readonly labelMass?: unknown;
  readonly argmaxIsLabel?: unknown;
  /** The fields of a score as they are passed on; absent: they are made of what was read. */
  readonly providerFields?: JsonObject;
};

/** A whole answer as one interface tells it. */
export type RawDecisionReply = {
  /** By the ids that were sent; a pair for each answer, so that one given twice is seen. */
  readonly answers: readonly (readonly [id: string, answer: RawAnswer])[];
  readonly usage: RawDecisionUsage | undefined;
  readonly upstreamId: string | null;
  /** The provider did not read all of what it was sent. */
  readonly isTruncated: boolean;
};

export type RawDecisionUsage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
};
