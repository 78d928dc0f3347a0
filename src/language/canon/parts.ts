/** Ordered content of a turn. What a provider needs back unchanged (signatures, blobs) travels with its part. */
export type Part =
  | { readonly is: "text"; readonly text: string }
  | { readonly is: "refusal"; readonly text: string }
  | { readonly is: "image"; readonly source: MediaSource }
  | { readonly is: "audio"; readonly source: MediaSource }
  | { readonly is: "file"; readonly source: MediaSource; readonly filename: string | null }
  | { readonly is: "reasoning"; readonly text: string }
  | { readonly is: "tool_call"; readonly id: string; readonly name: string; readonly argumentsText: string }
  | { readonly is: "tool_result"; readonly callId: string; readonly text: string };

export type MediaSource =
  | { readonly is: "url"; readonly url: string }
  | { readonly is: "inline"; readonly mediaType: string; readonly base64: string }
  | { readonly is: "uploaded"; readonly id: string };

export type Turn = {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  readonly parts: readonly Part[];
};
