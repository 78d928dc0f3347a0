import { type ErrorResponse, errorResponse } from "./wire-format.ts";

/** The simulated providers: what each serves and how fast. The catalogue files beside this one say the same to callers. */
export const SANDBOX_SLUGS = ["sandbox-us", "sandbox-de", "sandbox-fr"] as const;
export type SandboxSlug = (typeof SANDBOX_SLUGS)[number];

/** How fast an answer comes. An answer in one piece takes as long as its stream would, up to `wholeMsMax`. */
export type ResponsePace = {
  readonly firstTokenMs: number;
  readonly betweenTokensMs: number;
  readonly bodyMsMax: number;
};

type ProviderProfile = {
  readonly pace: ResponsePace;
  readonly models: readonly string[];
};

export const PROVIDER_PROFILES: Readonly<Record<SandboxSlug, ProviderProfile>> = {
  "sandbox-us": {
    pace: { firstTokenMs: 5, betweenTokensMs: 2, bodyMsMax: 250 },
    models: [
      "sandbox/chat",
      "sandbox/embed",
      "sandbox/chat-mini",
      "sandbox/claude",
      "sandbox/gemini",
      "sandbox/listen",
      "sandbox/speak",
      "sandbox/decide",
    ],
  },
  "sandbox-de": {
    pace: { firstTokenMs: 20, betweenTokensMs: 4, bodyMsMax: 250 },
    models: [
      "sandbox/chat",
      "sandbox/embed",
      "sandbox/chat-mini",
      "sandbox/claude",
      "sandbox/nova",
      "sandbox/listen",
      "sandbox/speak",
      "sandbox/decide",
    ],
  },
  "sandbox-fr": {
    pace: { firstTokenMs: 60, betweenTokensMs: 8, bodyMsMax: 250 },
    models: ["sandbox/chat", "sandbox/embed", "sandbox/chat-fr", "sandbox/listen", "sandbox/speak", "sandbox/decide"],
  },
};

/** Words for how hard to think, of models that do not know all of them: others are refused, as by a real one. */
export const EFFORTS_BY_MODEL: Readonly<Record<string, readonly string[]>> = {
  "sandbox/chat-mini": ["low", "medium", "high"],
};

/** Models that look at pictures; the others refuse them, as a real one would. */
export const VISION_MODELS: ReadonlySet<string> = new Set([
  "sandbox/chat",
  "sandbox/claude",
  "sandbox/gemini",
  "sandbox/nova",
]);

/** The models take different words for how hard to think. */
export function unsupportedEffort(model: string, word: string, param: string): ErrorResponse | undefined {
  const known = EFFORTS_BY_MODEL[model];
  if (known === undefined || word === "none" || known.includes(word)) return undefined;
  const words = known.map((one) => `'${one}'`).join(", ");
  return errorResponse(400, `'${word}' is not taken by the model ${model}. It takes ${words}.`, {
    param,
    code: "unsupported_value",
  });
}

/** The tier that an answer says it was served by. */
export function servedTier(asked: string | null | undefined): string {
  return asked == null || asked === "auto" ? "default" : asked;
}
