/** Well-formed bodies of the chat-completions dialect for scripted upstreams. */
export const UPSTREAM_ID = "chatcmpl-upstream1";
export const UPSTREAM_USAGE = {
  prompt_tokens: 11,
  completion_tokens: 7,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
} as const;

type Overrides = {
  /** Fields of the one choice. */
  readonly content?: string | null;
  readonly message?: Readonly<Record<string, unknown>>;
  readonly finish_reason?: string | null;
  /** Any other key replaces or adds a top-level field. */
  readonly [field: string]: unknown;
};

export function chatJson(overrides: Overrides = {}): Record<string, unknown> {
  const { content = "Hello there", message, finish_reason = "stop", ...top } = overrides;
  return {
    id: UPSTREAM_ID,
    object: "chat.completion",
    created: 1_760_000_000,
    model: "upstream-model",
    choices: [
      {
        index: 0,
        message: message ?? { role: "assistant", content, refusal: null, annotations: [] },
        logprobs: null,
        finish_reason,
      },
    ],
    usage: UPSTREAM_USAGE,
    service_tier: "default",
    system_fingerprint: "fp_upstream",
    ...top,
  };
}

type FrameOptions = {
  readonly id?: string;
  readonly model?: string;
  readonly finish?: string;
  /** `asked`: a last chunk with usage and null on the others, as with `include_usage`. An object is sent as usage. */
  readonly usage?: "asked" | "not_asked" | Readonly<Record<string, unknown>>;
  /** Default: the stream ends with `[DONE]`. */
  readonly done?: "sent" | "missing";
};

/** Server-sent events of one reply: the role, then each piece (text, or a whole delta), the finish, the end marker. */
export function chatFrames(pieces: readonly (string | object)[], options: FrameOptions = {}): string[] {
  const usage = options.usage ?? "not_asked";
  const withUsage = usage !== "not_asked";
  const chunk = (choices: readonly unknown[], figures: unknown = null) =>
    sse({
      id: options.id ?? UPSTREAM_ID,
      object: "chat.completion.chunk",
      created: 1_760_000_000,
      model: options.model ?? "upstream-model",
      service_tier: "default",
      system_fingerprint: "fp_upstream",
      choices,
      ...(withUsage ? { usage: figures } : {}),
    });
  const choice = (delta: object, finish: string | null) => [{ index: 0, delta, logprobs: null, finish_reason: finish }];
  const frames = [chunk(choice({ role: "assistant", content: "", refusal: null }, null))];
  for (const piece of pieces) frames.push(chunk(choice(typeof piece === "string" ? { content: piece } : piece, null)));
  frames.push(chunk(choice({}, options.finish ?? "stop")));
  if (withUsage) frames.push(chunk([], usage === "asked" ? UPSTREAM_USAGE : usage));
  if (options.done !== "missing") frames.push("data: [DONE]\n\n");
  return frames;
}

/** One event of a stream. */
export function sse(data: unknown): string {
  return `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}
