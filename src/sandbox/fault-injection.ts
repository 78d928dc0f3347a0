import { DECISION_FAULT_MODELS } from "./misdeeds.ts";
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

/** Callable but listed nowhere; every provider has all of them. */
export const FAULT_MODELS: readonly string[] = [...FAULTS_BY_MODEL.keys(), ...DECISION_FAULT_MODELS];

export function injectedFaultFor(provider: SandboxSlug, model: string): InjectedFault | undefined {
  return FAULTS_BY_MODEL.get(model)?.(provider);
}
