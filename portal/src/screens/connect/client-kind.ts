/** What the configuration of a client is made from. */
export type Target = {
  /** `https://gateway.example.eu`, without a path. */
  readonly origin: string;
  readonly model: string;
  /** The key, or what stands for it. */
  readonly key: string;
  /** Tokens the model reads, where that is known. */
  readonly contextTokens: number | null;
};

export type Step = {
  readonly title: string;
  readonly says?: string;
  /** Where the text goes, and the text. */
  readonly file?: string;
  readonly code?: string;
};

export type Client = {
  readonly id: string;
  readonly title: string;
  readonly kind: "Coding agents" | "Libraries" | "Applications";
  readonly about: string;
  /** The surface it speaks, and whether its base address ends with /v1. */
  readonly speaks: string;
  readonly base: "with /v1" | "without /v1";
  /** How its requests are named in the log; null: it does not say who it is. */
  readonly app: readonly string[] | null;
  readonly steps: (target: Target) => readonly Step[];
  /** What goes wrong with this client, and what to do. */
  readonly traps: readonly string[];
};
