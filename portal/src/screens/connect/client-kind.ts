/** Values that a client's configuration is generated from. */
export type Target = {
  /** `https://gateway.example.eu`, without a path. */
  readonly origin: string;
  readonly model: string;
  /** The key, or a placeholder. */
  readonly key: string;
  /** The model's context length; null: unknown. */
  readonly contextTokens: number | null;
};

export type Step = {
  readonly title: string;
  readonly description?: string;
  /** The file or field that `code` goes into. */
  readonly file?: string;
  readonly code?: string;
};

export type Client = {
  readonly id: string;
  readonly title: string;
  readonly kind: "Coding agents" | "Libraries" | "Applications";
  readonly about: string;
  /** The APIs that the client uses. */
  readonly apis: string;
  readonly base: "with /v1" | "without /v1";
  /** App names in the request log; null: the client does not identify itself. */
  readonly app: readonly string[] | null;
  readonly steps: (target: Target) => readonly Step[];
  /** Known problems of this client and their solutions. */
  readonly pitfalls: readonly string[];
};
