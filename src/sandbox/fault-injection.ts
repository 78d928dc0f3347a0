import type { ResponsePace, SandboxSlug } from "./provider-profiles.ts";

/** An injected fault, selected by the requested model alone and never by content. */
export type InjectedFault =
  | {
      readonly is: "status";
      readonly status: number;
      readonly message: string;
      readonly retryAfterSeconds: number | null;
    }
  /** Half of the response, then the connection closes. */
  | { readonly is: "cut" }
  /** Status 200 with an HTML page, as from a misconfigured proxy. */
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

/** Faults of decision models on every question type but yes/no, so that the probe still succeeds. */
export type DecisionFault = "refuses" | "drops" | "changes" | "unmetered";

const DECISION_FAULTS: ReadonlyMap<string, DecisionFault> = new Map([
  ["sandbox/decide-refuses", "refuses"],
  ["sandbox/decide-drops", "drops"],
  ["sandbox/decide-changes", "changes"],
  ["sandbox/decide-unmetered", "unmetered"],
]);

/** Callable but unlisted. */
const DECISION_FAULT_MODELS: readonly string[] = [...DECISION_FAULTS.keys()];

export function decisionFaultOf(model: string): DecisionFault | undefined {
  return DECISION_FAULTS.get(model);
}

export function isDecisionModel(model: string): boolean {
  return model === "sandbox/decide" || DECISION_FAULTS.has(model);
}

/** Callable at every provider but unlisted. */
export const FAULT_MODELS: readonly string[] = [...FAULTS_BY_MODEL.keys(), ...DECISION_FAULT_MODELS];

export function injectedFaultFor(provider: SandboxSlug, model: string): InjectedFault | undefined {
  return FAULTS_BY_MODEL.get(model)?.(provider);
}

type SpeechFault = "html" | "other_format" | "cut";

const SPEECH_FAULTS: ReadonlyMap<string, SpeechFault> = new Map([
  ["sandbox/speak-html", "html"],
  ["sandbox/speak-other-format", "other_format"],
  ["sandbox/speak-cut", "cut"],
]);

/** Callable but unlisted. */
export const SPEECH_FAULT_MODELS: readonly string[] = [...SPEECH_FAULTS.keys()];

/** Texts up to this length are synthesized correctly, so that the probe succeeds. */
const FAULTLESS_MAX_CHARS = 40;

/** `other_format` occurs at one provider only, so that failover succeeds. */
export function speechFaultFor(model: string, provider: string, text: string): SpeechFault | undefined {
  if (text.length <= FAULTLESS_MAX_CHARS) return undefined;
  const fault = SPEECH_FAULTS.get(model);
  return fault === "other_format" && provider !== "sandbox-us" ? undefined : fault;
}

export function isSpeechModel(model: string): boolean {
  return model === "sandbox/speak" || SPEECH_FAULTS.has(model);
}
