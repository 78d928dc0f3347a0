import type { ResponsePace, SandboxSlug } from "./provider-profiles.ts";

/** What goes wrong on purpose. Only the model asked for decides it, never the content of a request. */
export type InjectedFault =
  | {
      readonly is: "status";
      readonly status: number;
      readonly message: string;
      readonly retryAfterSeconds: number | null;
    }
  /** Half of the answer, then the connection dies. */
  | { readonly is: "cut" }
  /** 200 and a web page, as a misconfigured proxy in front of a provider answers. */
  | { readonly is: "garbage" }
  | { readonly is: "slow"; readonly pace: ResponsePace };

type FaultScript = (provider: SandboxSlug) => InjectedFault | undefined;

const overloadedFault: InjectedFault = {
  is: "status",
  status: 503,
  message: "The simulated provider is overloaded on purpose.",
  retryAfterSeconds: null,
};

const FAULTS_BY_MODEL: ReadonlyMap<string, FaultScript> = new Map<string, FaultScript>([
  [
    "sandbox/fail-500",
    () => ({
      is: "status",
      status: 500,
      message: "The simulated provider fails on purpose.",
      retryAfterSeconds: null,
    }),
  ],
  [
    "sandbox/fail-429",
    () => ({
      is: "status",
      status: 429,
      message: "The simulated provider limits its rate on purpose.",
      retryAfterSeconds: 7,
    }),
  ],
  ["sandbox/cut", () => ({ is: "cut" })],
  ["sandbox/garbage", () => ({ is: "garbage" })],
  ["sandbox/slow", () => ({ is: "slow", pace: { firstTokenMs: 1500, betweenTokensMs: 150, bodyMsMax: 5000 } })],
  ["sandbox/fail-over", (provider) => (provider === "sandbox-us" ? overloadedFault : undefined)],
]);

/**
 * What deciding models do wrong on purpose: with every question but a plain yes or no, so that they can be proven all
 * the same. Only the model asked for decides it, never the content of a request.
 */
export type DecisionFault = "refuses" | "drops" | "changes" | "unmetered";

const DECISION_FAULTS: ReadonlyMap<string, DecisionFault> = new Map([
  ["sandbox/decide-refuses", "refuses"],
  ["sandbox/decide-drops", "drops"],
  ["sandbox/decide-changes", "changes"],
  ["sandbox/decide-unmetered", "unmetered"],
]);

/** Callable but listed nowhere. */
export const DECISION_FAULT_MODELS: readonly string[] = [...DECISION_FAULTS.keys()];

export function decisionFaultOf(model: string): DecisionFault | undefined {
  return DECISION_FAULTS.get(model);
}

/** Models that are asked to decide, and nothing else. */
export function isDecisionModel(model: string): boolean {
  return model === "sandbox/decide" || DECISION_FAULTS.has(model);
}

/** Callable but listed nowhere; every provider has all of them. */
export const FAULT_MODELS: readonly string[] = [...FAULTS_BY_MODEL.keys(), ...DECISION_FAULT_MODELS];

export function injectedFaultFor(provider: SandboxSlug, model: string): InjectedFault | undefined {
  return FAULTS_BY_MODEL.get(model)?.(provider);
}

/** What speaking models do wrong on purpose. */
type SpeechFault = "html" | "other_format" | "cut";

const SPEECH_FAULTS: ReadonlyMap<string, SpeechFault> = new Map([
  ["sandbox/speak-html", "html"],
  ["sandbox/speak-other-format", "other_format"],
  ["sandbox/speak-cut", "cut"],
]);

/** Callable but listed nowhere. */
export const SPEECH_FAULT_MODELS: readonly string[] = [...SPEECH_FAULTS.keys()];

/** A text of this length is spoken well by all of them, so that they can be proven. */
const FAULTLESS_MAX_CHARS = 40;

/** `other_format` happens at one provider only: the next one serves. */
export function speechFaultFor(model: string, provider: string, text: string): SpeechFault | undefined {
  if (text.length <= FAULTLESS_MAX_CHARS) return undefined;
  const mishap = SPEECH_FAULTS.get(model);
  return mishap === "other_format" && provider !== "sandbox-us" ? undefined : mishap;
}

/** Models that speak, and do nothing else. */
export function isSpeechModel(model: string): boolean {
  return model === "sandbox/speak" || SPEECH_FAULTS.has(model);
}
