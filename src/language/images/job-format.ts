import type { JsonObject } from "../../kit/json.ts";
import type { UpstreamProblem } from "../canon/upstream-problem.ts";
import type { Usage } from "../canon/usage.ts";
import type { ImageOrder } from "./call.ts";

/** What a provider that generates in the background wants next. */
export type ImageJobStep =
  /** Ask again, at this address if there is one. */
  | { readonly is: "wait"; readonly url: string | undefined; readonly id: string | null }
  /** The image is ready: at an address of its own, which needs no credential, or below the provider's. */
  | {
      readonly is: "fetch";
      readonly url: string;
      readonly credential: "none" | "own";
      readonly usage?: Usage | undefined;
    }
  /** The content filter refused; the word for the reason has no content. */
  | { readonly is: "refused"; readonly reason: string; readonly usage?: Usage | undefined }
  | { readonly is: "failed"; readonly why: string };

/** A provider's wire format for images that take several requests: an order, questions for its state, and the image itself. */
export type ImageJobFormat = {
  readonly auth: "bearer" | "x-key";
  path(order: ImageOrder): string;
  encode(order: ImageOrder): JsonObject;
  /** Undefined when the body is not a reply in this format. */
  read(body: unknown): ImageJobStep | undefined;
  decodeProblem(
    body: unknown,
    status: number | null,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): UpstreamProblem;
};
