import type { RoutingHints } from "../canon/routing-hints.ts";
import { type TextTokenEstimator, TOKENS_PER_MEDIA } from "../canon/tokens.ts";
import type { DecisionImage } from "../decisions/image.ts";

/** The canonical moderation request. */
export type ModerationCall = {
  readonly model: string;
  readonly subjects: readonly ModerationSubject[];
  /** Texts are judged one by one; the parts of a multimodal input are judged together. */
  readonly form: "texts" | "parts";
  readonly routingHints: RoutingHints | undefined;
};

/** What one result is about. */
export type ModerationSubject = { readonly parts: readonly ModerationPart[] };

export type ModerationPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly image: DecisionImage };

export const INPUT_TYPES = ["text", "image"] as const;
export type ModerationInputType = (typeof INPUT_TYPES)[number];

/** A provider's verdict on one subject. */
export type ModerationResult = {
  readonly isFlagged: boolean;
  /** By category; null: the model does not judge it. */
  readonly categories: ReadonlyMap<string, boolean | null>;
  readonly scores: ReadonlyMap<string, number | null>;
  /** Which inputs each category was judged by; undefined: the provider does not say. */
  readonly inputTypes: ReadonlyMap<string, readonly ModerationInputType[]> | undefined;
};

/** The texts of a subject as one. */
export function subjectText({ parts }: ModerationSubject): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

export function subjectImages({ parts }: ModerationSubject): readonly DecisionImage[] {
  return parts.flatMap((part) => (part.type === "image" ? [part.image] : []));
}

export function estimateModerationTokens(
  { subjects }: Pick<ModerationCall, "subjects">,
  of: TextTokenEstimator,
): number {
  const parts = subjects.flatMap((subject) => subject.parts);
  return parts.reduce((sum, part) => sum + (part.type === "text" ? of(part.text) : TOKENS_PER_MEDIA), 0);
}
