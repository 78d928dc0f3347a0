/** Well-formed bodies of the Gemini dialect for scripted upstreams. */
export const RESPONSE_ID = "resp-Gemini_1";
export const USAGE = {
  promptTokenCount: 11,
  candidatesTokenCount: 7,
  totalTokenCount: 18,
  promptTokensDetails: [{ modality: "TEXT", tokenCount: 11 }],
} as const;

type Part = Readonly<Record<string, unknown>>;
type Options = {
  readonly finish?: string;
  readonly usage?: Readonly<Record<string, unknown>>;
  /** Further fields of the candidate. */
  readonly candidate?: Readonly<Record<string, unknown>>;
};

/** One reply, or one chunk of a stream: without finish reason and usage where none are given. */
export function chunk(parts: readonly Part[], { finish, usage, candidate }: Options = {}): Record<string, unknown> {
  return {
    candidates: [
      {
        content: { role: "model", parts },
        ...(finish === undefined ? {} : { finishReason: finish }),
        index: 0,
        ...candidate,
      },
    ],
    ...(usage === undefined ? {} : { usageMetadata: usage }),
    modelVersion: "gemini-test",
    responseId: RESPONSE_ID,
  };
}

export function whole(parts: readonly Part[], options: Options = {}): Record<string, unknown> {
  return chunk(parts, { finish: "STOP", usage: USAGE, ...options });
}

/** An event as Google writes it: carriage returns, and no end marker after the last one. */
export function frame(data: unknown): string {
  return `data: ${JSON.stringify(data)}\r\n\r\n`;
}

/** One chunk per part, with finish reason and usage on the last. */
export function frames(parts: readonly Part[], options: Options = {}): string[] {
  return parts.map((part, at) =>
    frame(
      at === parts.length - 1
        ? whole([part], options)
        : chunk([part], { usage: { promptTokenCount: 11, totalTokenCount: 11 } }),
    ),
  );
}
