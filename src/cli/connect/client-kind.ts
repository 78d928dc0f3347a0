export type Env = Readonly<Record<string, string | undefined>>;

/** What a client's configuration states about a model. */
export type KnownModel = {
  readonly id: string;
  readonly name: string;
  readonly contextTokens: number | null;
  readonly outputTokens: number | null;
  readonly isSandbox: boolean;
  readonly hasReasoning: boolean;
  readonly readsImages: boolean;
};

export type Settings = {
  /** Without `/v1`. */
  readonly base: string;
  readonly key: string;
  /** Where the key is kept, for clients that can read it from a file. */
  readonly keyFile: string;
  readonly model: KnownModel;
  /** For small tasks in the background. */
  readonly smallModel: KnownModel;
  /** What the picker of the client shall list. */
  readonly models: readonly KnownModel[];
};

/** A program on this machine that can be pointed at the gateway by its configuration file. */
export type ClientKind = {
  readonly title: string;
  readonly configFile: (env: Env, home: string) => string;
  /** A file beside the configuration that the client reads the key from; null: the key is in the configuration. */
  readonly keyFileName: string | null;
  readonly surface: "messages" | "responses" | "chat";
  /** Which models to prefer when none is named, the best first. */
  readonly prefers: readonly RegExp[];
  readonly prefersSmall?: RegExp;
  readonly write: (text: string, settings: Settings) => string;
  /** Takes out what `write` put in, as it was in the text before. */
  readonly undo: (text: string, before: string) => string;
  /** The command that starts the client with a model, printed at the end. */
  readonly begin: (model: string) => string;
  /** Variables of the environment that would win over the configuration. */
  readonly rivals: readonly string[];
};

/** A variable of the environment; an empty one counts as absent. */
export const set = (env: Env, name: string) => (env[name] === undefined || env[name] === "" ? undefined : env[name]);
