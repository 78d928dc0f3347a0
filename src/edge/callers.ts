import type { IncomingHttpHeaders } from "node:http";
import { toFault } from "../app/to-fault.ts";
import { Fault } from "../contract/faults.ts";
import type { Route, Switch } from "../contract/route.ts";
import type { KeyRef, RateWindowVerdict, SharedState } from "../domain/admission/shared-state.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import type { Principal } from "../domain/tenancy/key.ts";
import { chain, type MaybePromise } from "../kit/maybe-promise.ts";
import { authenticateKey, keyFault, scopeFault } from "./authenticate.ts";
import { switchedOffFault } from "./edge-faults.ts";
import { addRateHeaders, overLimit } from "./rate-limit-headers.ts";

/** Of calls with a key that is over, or from a wrong address, so many a minute are in the log, whatever the key is allowed. */
const KEPT_OUT_RPM_MAX = 10;

export type CallersDeps = {
  readonly directory: Directory;
  readonly state: SharedState;
  /** Others may change what is known here. */
  readonly fleet: Pick<Fleet, "isSingleInstance" | "isCurrent" | "refreshWorkspace" | "catchUp">;
  /** Surfaces that are switched off here. */
  readonly switchedOff: ReadonlySet<Switch>;
  readonly rpmDefaults: { readonly live: number; readonly test: number };
};

/** A call of somebody with a key. */
export type Asking = {
  readonly headers: IncomingHttpHeaders;
  /** Headers of its answer. */
  readonly answer: Record<string, string>;
  readonly route: Route;
  readonly address: string;
  readonly receivedAtMs: number;
};

/** How a caller stands whose key is known. */
export type Standing = {
  readonly principal: Principal;
  readonly refusal: Fault | undefined;
  /** Undefined where the window was not asked, or did not answer. */
  readonly verdict: RateWindowVerdict | undefined;
};

/** Who calls with a key, and what keeps them out: by what is the newest about them, wherever it was changed. */
export class Callers {
  readonly #deps: CallersDeps;

  constructor(deps: CallersDeps) {
    this.#deps = deps;
  }

  /** A caller who would be refused by what is known here may be known elsewhere. */
  find(asking: Asking): MaybePromise<Principal> {
    const { fleet } = this.#deps;
    if (fleet.isSingleInstance) return this.#known(asking);
    try {
      const known = this.#known(asking);
      if (this.#keptOut(asking, known) === undefined) return known;
    } catch (error) {
      if (!(error instanceof Fault) || error.code === "missing_api_key") throw error;
    }
    return fleet.catchUp().then(() => this.#known(asking));
  }

  /** The key, the address, the scope, a switch, the window, in this order. */
  judge(asking: Asking, principal: Principal): MaybePromise<Standing> {
    const keptOut = this.#keptOut(asking, principal);
    if (keptOut !== undefined) return this.#turnedAway(asking, principal, keptOut);
    const outside = this.#outside(principal, asking.route);
    const window = this.#window(asking, principal);
    // A refused call counts like any other; the scope answers first, whatever the window says, or whether it answers.
    const behind = (standing: Standing) => (outside === undefined ? standing : { ...standing, refusal: outside });
    if (!(window instanceof Promise)) return behind(window);
    return window.then(behind, (error: unknown) => {
      const refusal = outside ?? toFault(error);
      return { principal, refusal, verdict: undefined };
    });
  }

  /** The same once more where something of the workspace was changed since it was loaded. */
  async current(asking: Asking, standing: Standing): Promise<Standing> {
    const { fleet } = this.#deps;
    const { verdict, principal: before } = standing;
    const { id } = before.workspace;
    if (verdict?.version === undefined || fleet.isCurrent(id, verdict.version)) return standing;
    await fleet.refreshWorkspace(id, verdict.version);
    const principal = this.#known(asking);
    const outside = this.#keptOut(asking, principal) ?? this.#outside(principal, asking.route);
    if (outside !== undefined) return { principal, refusal: outside, verdict };
    return this.#within(asking, principal, verdict);
  }

  /** By the limit that holds now. */
  async #within(asking: Asking, principal: Principal, verdict: RateWindowVerdict): Promise<Standing> {
    const limit = this.#limitOf(principal);
    // What the old limit refused was not counted yet.
    if (limit !== verdict.limit && !verdict.isAllowed) return this.#window(asking, principal);
    const used = verdict.limit - verdict.remaining;
    const judged =
      limit === verdict.limit
        ? verdict
        : { ...verdict, limit, remaining: Math.max(0, limit - used), allowed: used <= limit };
    addRateHeaders(asking.answer, judged);
    return { principal, refusal: this.#over(judged, asking.route), verdict: judged };
  }

  #known({ headers }: Asking): Principal {
    return authenticateKey(headers, this.#deps.directory);
  }

  #keptOut({ address, receivedAtMs }: Asking, principal: Principal): Fault | undefined {
    return keyFault(principal, address, receivedAtMs);
  }

  #outside(principal: Principal, route: Route): Fault | undefined {
    return scopeFault(principal, route) ?? switchedOffFault(route, this.#deps.switchedOff);
  }

  /**
   * Whoever has the key could fill the log for ever. Beyond a few calls, or where the window does not answer, only the caller
   * hears of it. The window is one of its own: nobody uses up that of those who may call.
   */
  #turnedAway({ route }: Asking, principal: Principal, refusal: Fault): MaybePromise<Standing> {
    const told = ({ isAllowed }: Pick<RateWindowVerdict, "isAllowed">): Standing => {
      if (!isAllowed) throw refusal;
      return { principal, refusal, verdict: undefined };
    };
    const { id, workspaceId } = principal.key;
    const limit = Math.min(this.#limitOf(principal), KEPT_OUT_RPM_MAX);
    const window = this.#count(route, { id: `${id}.kept-out`, workspaceId }, limit);
    return window instanceof Promise ? window.catch(() => ({ isAllowed: false })).then(told) : told(window);
  }

  #limitOf({ key }: Principal): number {
    return key.rpm ?? this.#deps.rpmDefaults[key.environment];
  }

  /** Counts the call where its route counts, and says in any case how the window stands. */
  #count({ counted }: Route, key: KeyRef, limit: number): MaybePromise<RateWindowVerdict> {
    const { state } = this.#deps;
    return counted ? state.consumeRateWindow(key, limit) : state.peekRateWindow(key, limit);
  }

  #window({ answer, route }: Asking, principal: Principal): MaybePromise<Standing> {
    return chain(this.#count(route, principal.key, this.#limitOf(principal)), (verdict) => {
      addRateHeaders(answer, verdict);
      return { principal, refusal: this.#over(verdict, route), verdict };
    });
  }

  #over(verdict: RateWindowVerdict, { counted }: Route): Fault | undefined {
    return verdict.isAllowed || !counted ? undefined : overLimit(verdict);
  }
}
