import type { Fault } from "../../contract/faults.ts";
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
  | {
      readonly is: "broke";
      readonly stream: Sent;
      readonly why: string;
      readonly upstreamStatus: number;
      /** What came was no answer. */
      readonly malformed?: true | undefined;
      /** It kept its caller waiting for too long. */
      readonly late?: boolean;
      /** The gateway itself ended it, and nothing is to be concluded of the endpoint: what its caller is told. */
      readonly ended?: Fault | undefined;
    }
  | { readonly is: "gone"; readonly stream: Sent | undefined };
