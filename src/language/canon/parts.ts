/**
 * Ordered content of a turn. Data that a provider needs back unchanged (signatures, encrypted blobs) stays on its
 * part.
 */
export type Part =
  | { readonly is: "text"; readonly text: string; readonly cache?: CacheBreakpoint }
  | { readonly is: "refusal"; readonly text: string; readonly cache?: CacheBreakpoint }
  | ImagePart
  | { readonly is: "audio"; readonly source: MediaSource; readonly cache?: CacheBreakpoint }
  | {
      readonly is: "file";
      readonly source: MediaSource;
      readonly filename: string | null;
      readonly cache?: CacheBreakpoint;
    }
  | { readonly is: "reasoning"; readonly detail: ReasoningDetail }
  | ToolCallPart
  | ToolResultPart;

export type ImagePart = {
  readonly is: "image";
  readonly source: MediaSource;
  /** Requested resolution; absent: the model decides. */
  readonly detail?: string;
  readonly cache?: CacheBreakpoint;
};

/** "auto" is the default and is not carried. */
export function imageDetail(word: string | null | undefined): Pick<ImagePart, "detail"> {
  return word == null || word === "auto" ? {} : { detail: word };
}

export type ToolCallPart = {
  readonly is: "tool_call";
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it; may be empty for a call without arguments. */
  readonly argumentsText: string;
  /** Signature that the provider attached to the call itself. */
  readonly signature?: ReasoningSignature;
  readonly cache?: CacheBreakpoint;
  /** The call is part of a stored response, so the caller cannot remove it from its request. */
  readonly isStored?: true;
};

export type ToolResultPart = {
  readonly is: "tool_result";
  readonly callId: string;
  readonly content: readonly (Extract<Part, { is: "text" }> | ImagePart)[];
  readonly failed: boolean;
  readonly cache?: CacheBreakpoint;
};

/** End of a prefix to cache; null `ttl`: the provider's default. */
export type CacheBreakpoint = { readonly ttl: "5m" | "1h" | null };

export type MediaSource =
  | { readonly is: "url"; readonly url: string }
  | { readonly is: "inline"; readonly mediaType: string; readonly base64: string }
  | { readonly is: "uploaded"; readonly id: string };

/** Only endpoints of the same family can verify or decrypt a signature. */
export type SignatureFamily = "anthropic" | "google" | "openai";
export type ReasoningSignature = { readonly family: SignatureFamily; readonly data: string };

/** One block of reasoning that must be sent back unchanged. */
export type ReasoningDetail =
  | { readonly is: "readable"; readonly text: string; readonly signature: ReasoningSignature | null }
  | { readonly is: "encrypted"; readonly signature: ReasoningSignature };

export type ConversationTurn = {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  readonly parts: readonly Part[];
  /** The caller's paths of the parts (for a tool result: of its content), if turns are not simply `messages`. */
  readonly partPaths?: readonly string[];
};
