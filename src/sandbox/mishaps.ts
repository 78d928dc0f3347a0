import { MISDEED_MODELS } from "./misdeeds.ts";
import type { Pace, SandboxSlug } from "./simulated.ts";

/** What goes wrong on purpose. Only the model asked for decides it, never the content of a request. */
export type Mishap =
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
  | { readonly is: "slow"; readonly pace: Pace };

type Script = (provider: SandboxSlug) => Mishap | undefined;

const overloaded: Mishap = {
  is: "status",
  status: 503,
  message: "The simulated provider is overloaded on purpose.",
  retryAfterSeconds: null,
};

const SCRIPTS: ReadonlyMap<string, Script> = new Map<string, Script>([
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
  ["sandbox/slow", () => ({ is: "slow", pace: { firstTokenMs: 1500, betweenTokensMs: 150, wholeMsMax: 5000 } })],
  ["sandbox/fail-over", (provider) => (provider === "sandbox-us" ? overloaded : undefined)],
]);

/** Callable but listed nowhere; every provider has all of them. */
export const MISHAP_MODELS: readonly string[] = [...SCRIPTS.keys(), ...MISDEED_MODELS];

export function mishapOf(provider: SandboxSlug, model: string): Mishap | undefined {
  return SCRIPTS.get(model)?.(provider);
}
