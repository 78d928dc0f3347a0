import type { RequiredCredential } from "../../io/store/sql/auth-adapter.ts";

/**
 * One request to the auth library. The credential that it was authenticated with may be replaced while it is in flight:
 * the database adapter rejects its writes for every person whose credential epoch started after the request.
 */
export type AuthCall = {
  /** The newest credential epoch at the start of the request, or the epoch that the request itself started. */
  epoch: number;
  requires?: RequiredCredential | undefined;
  /** The second-factor secret that was read last: the one that the submitted code was checked against. */
  factorSecret?: string | undefined;
  /** The adapter rejected a write. */
  isStale: boolean;
};

/** A library operation outside a request has no epoch. */
const NO_CALL: Readonly<AuthCall> = { epoch: 0, isStale: false };

/**
 * The calls in flight, by the Request that the library's own endpoint context carries. The library passes that context
 * to database hooks, and `tryGetCurrentAuthEndpointContext` gives it to the database adapter, which gets no argument.
 */
export class InFlightCalls {
  readonly #calls = new WeakMap<Request, AuthCall>();

  add(request: Request, call: AuthCall): void {
    this.#calls.set(request, call);
  }

  of(context: { readonly request?: Request | undefined } | null | undefined): AuthCall {
    const request = context?.request;
    return (request && this.#calls.get(request)) ?? { ...NO_CALL };
  }
}
