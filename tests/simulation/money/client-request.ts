import { type Exchange, rejectUpload } from "../../../src/app/exchange.ts";
import { type AdmissionDeps, admit } from "../../../src/app/pipeline/admit.ts";
import { decodeChat } from "../../../src/app/pipeline/decode.ts";
import type { InferenceRequest } from "../../../src/app/pipeline/inference-request.ts";
import type { MeteredUsage, SettlementDeps } from "../../../src/app/pipeline/metered-usage.ts";
import { RequestTrace } from "../../../src/app/pipeline/record.ts";
import { settleCharged, settleUncharged } from "../../../src/app/pipeline/settle.ts";
import { Fault, fault } from "../../../src/contract/faults.ts";
import { ROUTES } from "../../../src/contract/routes.ts";
import { NO_MARGIN } from "../../../src/domain/billing/margin.ts";
import type { Principal } from "../../../src/domain/tenancy/key.ts";
import type { SpendLimit } from "../../../src/domain/tenancy/limits.ts";
import type { Usage } from "../../../src/language/canon/usage.ts";
import type { Chance } from "../chance.ts";
import type { Incarnation } from "./instance.ts";
import { attemptAt, type Tariff, type World } from "./world.ts";

/** What the provider reports about its reply: the truth, more than was allowed, nothing at all, or the impossible. */
const FIGURES = ["honest", "beyond", "none", "missing", "negative", "absurd", "fractional", "more_cached"] as const;
export type Figures = (typeof FIGURES)[number];
const ENDS = ["whole", "stream", "left", "broke", "refused"] as const;

/** What the client received. */
export type ClientOutcome =
  | { readonly is: "answer"; readonly cost: number; readonly currency: string }
  | { readonly is: "broken" }
  | { readonly is: "refused"; readonly code: string };

/** One request, and everything visible of it from outside. */
export type ClientRequest = {
  readonly no: number;
  readonly id: string;
  readonly incarnation: Incarnation;
  readonly principal: Principal;
  readonly tariff: Tariff;
  readonly inputTokens: number;
  readonly maxTokens: number;
  readonly figures: Figures;
  readonly end: (typeof ENDS)[number];
  /** The limits in force where it was admitted. */
  readonly limits: readonly SpendLimit[];
  heldNanos: bigint;
  /** Its begin is in the journal: the log has it after the next start at the latest. */
  opened: boolean;
  seen: ClientOutcome | undefined;
};

/** As the request path reports a disconnected client. */
const GONE = { status: 499, errorCode: "client_disconnected" } as const;

const ROUTE = ROUTES.find(({ id }) => id === "createChatCompletion");

/** A client sends a request to one of the instances. */
export function ask(world: World): void {
  const { chance } = world;
  const { incarnation } = chance.pick(world.instances);
  const gateway = incarnation?.gateway;
  if (incarnation === undefined || gateway === undefined || !world.wallets.isFilled) {
    world.count("no instance");
    return;
  }
  const principal = incarnation.directory.principalByDigest(chance.pick(world.keys).digest);
  if (principal === undefined) throw new Error("a key without a principal");
  const no = world.orders.length + 1;
  const order: ClientRequest = {
    no,
    id: `req_${no}`,
    incarnation,
    principal,
    tariff: chance.pick(world.tariffs),
    inputTokens: chance.between(1, 300),
    maxTokens: chance.between(1, 300),
    figures: !world.shape.isCalm && chance.is(world.shape.lies) ? chance.pick(FIGURES) : "honest",
    end: chance.is(0.6) || world.shape.isCalm ? chance.pick(["whole", "stream"] as const) : chance.pick(ENDS),
    limits: gateway.spenderOf(principal).limits,
    heldNanos: 0n,
    opened: false,
    seen: undefined,
  };
  world.orders.push(order);
  world.note(`${order.id} of ${principal.key.id}: ${order.end}, figures ${order.figures}`);
  void new Service(world, incarnation, gateway, order).run();
}

/** The steps of a request as in src/app/pipeline, without those that do not concern money. */
class Service {
  readonly #world: World;
  readonly #life: Incarnation;
  readonly #gateway: AdmissionDeps & SettlementDeps;
  readonly #order: ClientRequest;
  readonly #trail: RequestTrace;

  constructor(world: World, incarnation: Incarnation, gateway: AdmissionDeps & SettlementDeps, order: ClientRequest) {
    this.#world = world;
    this.#life = incarnation;
    this.#gateway = gateway;
    this.#order = order;
    this.#trail = new RequestTrace(exchangeOf(world, order), order.principal, "chat", world.scheduler);
    this.#trail.terms = {
      currencies: world.snapshot.currencies,
      margin: NO_MARGIN,
      extras: undefined,
      hasOutputLimit: true,
    };
  }

  async run(): Promise<void> {
    const { inputTokens, maxTokens, tariff } = this.#order;
    const attempt = attemptAt(tariff);
    const body = { model: "acme/one", messages: [{ role: "user", content: "?" }], max_tokens: maxTokens };
    const { request } = decodeChat(Buffer.from(JSON.stringify(body)));
    const usageBoundAt: InferenceRequest["usageBoundAt"] = (...at) => ({ ...request.usageBoundAt(...at), inputTokens });
    try {
      await admit(this.#gateway, this.#trail, { attempts: [attempt] }, { usageBoundAt });
      this.#order.heldNanos = this.#trail.heldNanos;
      this.#trail.servingAttempt = attempt;
      await this.#aWhile(this.#world.chance.is(0.5) ? 20 : 2000);
      await this.#serve(attempt);
    } catch (error) {
      const problem = error instanceof Fault ? error : fault("internal_error", { message: String(error) });
      if (problem.code === "internal_error" && this.#life.isAlive)
        this.#world.broken("end", `${this.#order.id}: ${problem.message}`);
      await settleUncharged(this.#gateway, this.#trail, this.#trail.refusedRecord(problem));
      this.#see({ is: "refused", code: problem.code });
    }
  }

  async #serve(attempt: ReturnType<typeof attemptAt>): Promise<void> {
    const { end, inputTokens } = this.#order;
    if (end === "refused") throw fault("upstream_error", { message: "The provider does not answer." });
    const metered = meteredOf(this.#world.chance, this.#order);
    if (end !== "whole") await this.#stream();
    if (end === "broke") {
      const broken = { status: 200, errorCode: "upstream_error", usage: null, charge: null };
      await settleUncharged(this.#gateway, this.#trail, this.#trail.finishedRecord(broken));
      this.#see({ is: "broken" });
      return;
    }
    const how = end === "left" ? GONE : { status: 200, errorCode: null };
    const { shown } = await settleCharged(this.#gateway, this.#trail, attempt, metered, { inputTokens }, how);
    if (shown === undefined) throw new Error("an answer without its cost");
    if (end !== "left") this.#see({ is: "answer", cost: shown.cost, currency: shown.currency });
  }

  /** The head of a stream is sent, and the stream takes time. */
  async #stream(): Promise<void> {
    const { requestId: id, principal } = this.#trail;
    const atMs = this.#world.scheduler.nowMs();
    const opened = {
      t: "open",
      id,
      workspaceId: principal.workspace.id,
      atMs,
      record: this.#trail.openRecord(),
    } as const;
    const noted = () => {
      this.#order.opened = true;
    };
    this.#gateway.journal.append(opened).then(noted, () => undefined);
    await this.#aWhile(1000);
  }

  /** A crashed process reports nothing. */
  #see(seen: ClientOutcome): void {
    if (!this.#life.isAlive) return;
    const order = this.#order;
    order.seen = seen;
    if (this.#world.wallets.isHeld(order.id)) this.#world.broken("hold", `${order.id} is over and still holds money`);
    this.#world.count(seen.is === "refused" ? seen.code : seen.is);
    this.#world.note(`${order.id} sees ${seen.is} ${seen.is === "answer" ? seen.cost : ""}`);
  }

  #aWhile(mostMs: number): Promise<void> {
    const { scheduler, chance } = this.#world;
    return new Promise((resolve) => {
      scheduler.after(chance.between(0, mostMs), () => {
        if (this.#life.isAlive) resolve();
      });
    });
  }
}

function exchangeOf({ scheduler }: World, { id, principal }: ClientRequest): Exchange {
  if (ROUTE === undefined) throw new Error("there is no route for chat");
  return {
    requestId: id,
    route: ROUTE,
    params: {},
    query: new URLSearchParams(),
    headers: {},
    clientAddress: "127.0.0.1",
    receivedAtMs: scheduler.nowMs(),
    startedMs: scheduler.monotonicMs(),
    principal,
    baseHeaders: {},
    body: async () => Buffer.alloc(0),
    upload: rejectUpload,
  };
}

/** What an honest provider would have used, which is what the ledger must have. */
export function usedBy({ inputTokens, maxTokens, figures, no }: ClientRequest): { input: number; output: number } {
  if (figures === "none") return { input: 0, output: 0 };
  const output = figures === "beyond" ? maxTokens * 3 + 500 : 1 + ((no * 7919) % maxTokens);
  return { input: inputTokens, output };
}

function meteredOf(chance: Chance, order: ClientRequest): MeteredUsage {
  const { input, output } = usedBy(order);
  const usage: Usage = {
    inputTokens: input,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: output,
    reasoningTokens: 0,
    audioInputTokens: 0,
    audioOutputTokens: 0,
  };
  const outputWeight = 4 * output;
  switch (order.figures) {
    case "missing":
      return { usage: undefined, outputWeight: chance.is(0.1) ? 10_000_000 : outputWeight };
    case "negative":
      return { usage: { ...usage, outputTokens: -1000 * output }, outputWeight };
    case "absurd":
      return { usage: { ...usage, outputTokens: chance.pick([1e6, 1e12, 2 ** 53 + 2]) }, outputWeight };
    case "fractional":
      return {
        usage: { ...usage, outputTokens: chance.pick([0.5, Number.NaN, Number.POSITIVE_INFINITY]) },
        outputWeight,
      };
    case "more_cached":
      return { usage: { ...usage, cachedTokens: input + 1 + output }, outputWeight };
    default:
      return { usage, outputWeight };
  }
}
