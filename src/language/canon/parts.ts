/** Ordered content of a turn. What a provider needs back unchanged (signatures, blobs) travels with its part. */
export type Part =
  | { readonly is: "text"; readonly text: string; readonly cache?: CacheBreakpoint }
  | { readonly is: "refusal"; readonly text: string }
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
  /** The caller's word for how closely it is looked at; absent: that is left to the model. */
  readonly detail?: string;
  readonly cache?: CacheBreakpoint;
};

/** One word of the callers says what holds without any. */
export function imageDetail(word: string | null | undefined): Pick<ImagePart, "detail"> {
  return word == null || word === "auto" ? {} : { detail: word };
}

export type ToolCallPart = {
  readonly is: "tool_call";
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it; may be empty for a call without arguments. */
  readonly argumentsText: string;
  /** A provider's signature that stands on the call itself. */
  readonly signature?: ReasoningSignature;
  /** It stands in a response that is kept here: whoever goes on from that does not send the call. */
  readonly isStored?: true;
};

export type ToolResultPart = {
  readonly is: "tool_result";
  readonly callId: string;
  readonly content: readonly (Extract<Part, { is: "text" }> | ImagePart)[];
  readonly failed: boolean;
  readonly cache?: CacheBreakpoint;
};

/** The caller marked a prefix worth caching; `ttl` only where it was said. */
export type CacheBreakpoint = { readonly ttl: "5m" | "1h" | null };

export type MediaSource =
  | { readonly is: "url"; readonly url: string }
  | { readonly is: "inline"; readonly mediaType: string; readonly base64: string }
  | { readonly is: "uploaded"; readonly id: string };

/** Whose seal it is: a signature only opens at the family of endpoints that made it. */
export type SignatureFamily = "anthropic" | "google" | "openai";
export type ReasoningSignature = { readonly family: SignatureFamily; readonly data: string };

/** One block of reasoning, readable or opaque, as it must be sent back. */
export type ReasoningDetail =
  /** Readable text, with the seal of the provider when it gave one. */
  | { readonly is: "readable"; readonly text: string; readonly signature: ReasoningSignature | null }
  /** Nothing readable: only the seal. */
  | { readonly is: "encrypted"; readonly signature: ReasoningSignature };

export type ConversationTurn = {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  readonly parts: readonly Part[];
  /** The caller's own names of its parts (of a result: of the content in it), where turns are not simply `messages`. */
  readonly partPaths?: readonly string[];
};
