import type { JsonObject } from "../../kit/json.ts";
import type { UpstreamProblem } from "../canon/upstream-problem.ts";
import type { Usage } from "../canon/usage.ts";
import type { MemberRule } from "../dialects/reply-members.ts";
import type { ImageOrder, SourceImage } from "./call.ts";

/** A form field, or a file of a form. */
export type ImageFormFile = { readonly field: string; readonly filename: string; readonly image: SourceImage };

export type ImageBody =
  | { readonly is: "json"; readonly value: JsonObject }
  | {
      readonly is: "form";
      readonly fields: readonly (readonly [string, string])[];
      readonly files: readonly ImageFormFile[];
    };

/** What a provider says about all images of a reply; absent members are unknown. */
export type ImageFacts = {
  readonly created?: number | undefined;
  readonly background?: string | undefined;
  readonly output_format?: string | undefined;
  readonly quality?: string | undefined;
  readonly size?: string | undefined;
};

/** An image of a reply that was not checked yet. */
export type UncheckedImage = { readonly base64: unknown; readonly revisedPrompt: string | undefined };

export type ImageReply = {
  readonly images: readonly UncheckedImage[];
  readonly facts: ImageFacts;
  readonly usage: Usage | undefined;
  readonly id: string | null;
  /** There is no image, because the provider's content filter refused: its word for the reason, without content. */
  readonly refused?: string | undefined;
};

/** A decoded event of a provider's stream. */
export type ImageEvent =
  | { readonly is: "partial"; readonly base64: unknown; readonly index: number; readonly facts: ImageFacts }
  | {
      readonly is: "completed";
      readonly base64: unknown;
      readonly facts: ImageFacts;
      readonly usage: Usage | undefined;
    }
  | { readonly is: "problem"; readonly problem: UpstreamProblem }
  | { readonly is: "malformed" };

export type ImageWireOptions = { readonly editsAs: "form" | "json"; readonly sendsResponseFormat: boolean };

/** A provider's wire format for images. */
export type ImageWireFormat = {
  readonly auth: "bearer" | "x-goog-api-key";
  path(order: ImageOrder): string;
  /** Which members of a reply callers receive. */
  readonly reply: MemberRule;
  /** The same for the events of a stream. */
  readonly events: MemberRule;
  encode(order: ImageOrder, options: ImageWireOptions): ImageBody;
  /** Undefined when the body is not a reply in this format. */
  decode(body: unknown): ImageReply | undefined;
  decodeEvent(data: unknown): ImageEvent;
  decodeProblem(
    body: unknown,
    status: number | null,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): UpstreamProblem;
};

/** For providers that do not stream images: their replies to streaming requests arrive whole. */
export const WHOLE_ONLY: Pick<ImageWireFormat, "events" | "decodeEvent"> = {
  events: "omitted",
  decodeEvent: () => ({ is: "malformed" }),
};

export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The words of a code or of a provider's fixed sentence; undefined: none is stated. */
export function refusalWord(reason: unknown): string | undefined {
  if (typeof reason !== "string" || reason === "") return undefined;
  return /^[\w .:,'-]{1,160}$/.test(reason) ? reason : "not stated";
}
