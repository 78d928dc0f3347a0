import { type ErrorResponse, errorResponse } from "./wire-format.ts";

/** What each simulated provider serves and how fast. The catalogue files beside this one state the same. */
export const SANDBOX_SLUGS = ["sandbox-us", "sandbox-de", "sandbox-fr"] as const;
export type SandboxSlug = (typeof SANDBOX_SLUGS)[number];

/** Response latency. A non-streamed response takes as long as its stream would, up to `bodyMsMax`. */
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
      "sandbox/rerank",
      "sandbox/moderate",
      "sandbox/paint",
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
      "sandbox/rerank",
      "sandbox/moderate",
      "sandbox/paint",
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
    models: [
      "sandbox/chat",
      "sandbox/embed",
      "sandbox/rerank",
      "sandbox/moderate",
      "sandbox/paint",
      "sandbox/chat-fr",
      "sandbox/listen",
      "sandbox/speak",
      "sandbox/decide",
    ],
  },
};

/** Supported efforts of models that reject others. */
export const EFFORTS_BY_MODEL: Readonly<Record<string, readonly string[]>> = {
  "sandbox/chat-mini": ["low", "medium", "high"],
};

/** Other models reject images. */
export const VISION_MODELS: ReadonlySet<string> = new Set([
  "sandbox/chat",
  "sandbox/claude",
  "sandbox/gemini",
  "sandbox/nova",
]);

export function unsupportedEffort(model: string, effort: string, param: string): ErrorResponse | undefined {
  const efforts = EFFORTS_BY_MODEL[model];
  if (efforts === undefined || effort === "none" || efforts.includes(effort)) return undefined;
  const supported = efforts.map((supportedEffort) => `'${supportedEffort}'`).join(", ");
  return errorResponse(400, `'${effort}' is not supported by the model ${model}. Supported values: ${supported}.`, {
    param,
    code: "unsupported_value",
  });
}

export function servedTier(requested: string | null | undefined): string {
  return requested == null || requested === "auto" ? "default" : requested;
}
