import type { Verdict } from "../../io/upstream/classify.ts";
import type { Sent, WholeAnswer } from "../../language/canon/answer.ts";

/** How one attempt at one endpoint ended. */
export type Outcome =
  | Ended
  | { readonly is: "failed"; readonly verdict: Verdict; readonly upstreamStatus: number | null };

/** Ends that leave nothing to try. */
export type Ended =
  | { readonly is: "whole"; readonly answer: WholeAnswer; readonly upstreamStatus: number }
  | { readonly is: "relayed"; readonly stream: Sent; readonly upstreamStatus: number }
  /** It broke after the client had seen content: nothing may be tried any more. */
  | { readonly is: "broke"; readonly stream: Sent; readonly verdict: Verdict; readonly upstreamStatus: number }
  | { readonly is: "gone"; readonly stream: Sent | undefined };
