/** What happened on the way of a request that its operator should know. */
export type Notice =
  /** An attempt that is not the first of its request. */
  | { readonly is: "retried"; readonly provider: string; readonly at: "next" | "same" }
  | { readonly is: "budget_spent"; readonly provider: string }
  | { readonly is: "passed_over"; readonly provider: string; readonly why: "full" | "aside" | "dear" }
  | { readonly is: "turned_away"; readonly why: "full" | "too_long" }
  /** The provider refuses the gateway's own credential, account or deployment. */
  | {
      readonly is: "credential_refused";
      readonly endpoint: string;
      readonly provider: string;
      readonly status: number | null;
    };
