import { envelopeOf, Fault, fault } from "../../contract/faults.ts";
import { holdFor } from "../../domain/billing/price.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import { type Plan, planAttempts } from "../../domain/routing/plan.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import { awayFault } from "../../io/store/sql/store-error.ts";
import type { Inbound, Lane } from "../../io/upstream/lane.ts";
import { dialectSupport, laneFor } from "../../io/upstream/lanes.ts";
import type { Soon } from "../../kit/soon.ts";
import type { AnswerStream } from "../../language/canon/answer.ts";
import { estimateInputTokens, needsOf } from "../../language/canon/needs.ts";
import type { Exchange, Sink } from "../exchange.ts";
import { admit } from "./admit.ts";
import { tryOnce } from "./attempt.ts";
import { addHeaders } from "./headers.ts";
import type { Ended, Outcome } from "./outcome.ts";
import { Relay } from "./relay.ts";
import { type Metered, type Settled, settleFree, settleUsed } from "./settle.ts";
import { Trail } from "./trail.ts";
import type { Gateway } from "./world.ts";

/** How many tokens an answer is expected to have when endpoints are compared by cost. */
const EXPECTED_OUTPUT_TOKENS = 512;
/** The client closed the connection before the answer was whole; only ever seen in the log. */
export const GONE = { status: 499, errorCode: "client_disconnected" } as const;

/** A request as its surface decoded it, and what the surface wants to hear of it. */
export type Decoded = {
  readonly inbound: Inbound;
  /** Where the answer goes, when that is not the connection the request came on. */
  readonly sink?: Sink;
  /** Called once money is held, before anyone is asked. */
  readonly admitted?: () => Promise<void>;
  /** Given the whole answer, as JSON text, after it is settled and before its last bytes go out. */
  readonly keep?: (final: string) => Promise<void>;
  /** A refusal that names a field of the canonical call, in the words of the caller's own request. */
  readonly inCallersWords?: (problem: Fault) => Fault;
};

/** One request, all the way through: decode → plan → admit → attempt → relay → settle. Whatever happens is recorded. */
export async function run(
  gateway: Gateway,
  surface: Surface,
  exchange: Exchange,
  sink: Sink,
  decode: (body: Buffer) => Soon<Decoded>,
): Promise<void> {
  const trail = new Trail(exchange, principalOf(exchange), surface, gateway.clock);
  let decoded: Decoded | undefined;
  try {
    const soon = decode(await exchange.body());
    decoded = soon instanceof Promise ? await soon : soon;
    const { inbound } = decoded;
    gateway.recheck(exchange);
    trail.modelRequested = inbound.call.model;
    trail.streaming = inbound.call.stream;
    const inputTokens = estimateInputTokens(inbound.call, toolsLength(inbound));
    const plan = planFor(gateway, surface, trail.principal, inbound, inputTokens);
    trail.plan = plan;
    await admit(gateway, trail, plan, inputTokens, inbound.call);
    if (decoded.admitted !== undefined) await decoded.admitted();
    await new Request(gateway, trail, exchange, decoded.sink ?? sink, decoded, plan, inputTokens).serve();
  } catch (error) {
    const problem = error instanceof Fault ? error : internalFault(error);
    await settleFree(gateway, trail, trail.refuse(problem));
    throw decoded?.inCallersWords?.(problem) ?? problem;
  }
}

export function principalOf(exchange: Exchange): Principal {
  if (exchange.principal === undefined) throw new Error(`route ${exchange.route.id} runs the pipeline without a key`);
  return exchange.principal;
}

export function internalFault(error: unknown): Fault {
  const away = awayFault(error);
  if (away !== undefined) return away;
  const detail = { cause: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  return fault("internal_error", {
    message: "The gateway failed on this request. Try again; if it stays, tell the operator the request id.",
    detail,
  });
}

function toolsLength({ body }: Inbound): number {
  const span = body.members.get("tools");
  return span === undefined ? 0 : span.valueEnd - span.valueStart;
}

export function planFor(
  gateway: Gateway,
  surface: Surface,
  principal: Principal,
  { call }: Inbound,
  inputTokens: number,
): Plan {
  const { workspace } = principal;
  const snapshot = gateway.snapshot();
  const nowMs = gateway.clock.nowMs();
  const expectedOutput = Math.min(call.maxOutputTokens ?? EXPECTED_OUTPUT_TOKENS, EXPECTED_OUTPUT_TOKENS);
  return planAttempts(
    {
      asked: call.model,
      surface,
      policy: gateway.policyOf(workspace.id) ?? workspace.policy,
      walletCurrency: workspace.currency,
      demand: {
        needs: needsOf(call),
        parameters: call.parameters,
        parameterNames: call.parameterNames,
        native: call.native,
        modelBy: call.model === "auto" || call.model.startsWith("@") ? "router" : "caller",
        inputTokens,
        // The messages dialect demands a limit of everyone, so there it is a bound: a model that writes less will do.
        maxOutputTokens: surface === "messages" ? undefined : call.maxOutputTokens,
      },
    },
    {
      snapshot,
      anyReal: gateway.connections.anyReal,
      reach: (modelId) => gateway.reach.of(modelId, surface, workspace.currency, nowMs),
      health: gateway.health,
      support: dialectSupport(surface),
      expectedNanos: (price) => holdFor(inputTokens, expectedOutput, price, snapshot.currencies, workspace.currency),
    },
  );
}

/** A request that was admitted: from here on money is held and must be settled exactly once. */
class Request {
  readonly #gateway: Gateway;
  readonly #trail: Trail;
  readonly #exchange: Exchange;
  readonly #sink: Sink;
  readonly #inbound: Inbound;
  readonly #keep: Decoded["keep"];
  readonly #plan: Plan;
  readonly #inputTokens: number;
  readonly #relay: Relay;
  #lane: Lane | undefined;

  constructor(
    gateway: Gateway,
    trail: Trail,
    exchange: Exchange,
    sink: Sink,
    { inbound, keep }: Decoded,
    plan: Plan,
    inputTokens: number,
  ) {
    this.#gateway = gateway;
    this.#trail = trail;
    this.#exchange = exchange;
    this.#sink = sink;
    this.#inbound = inbound;
    this.#keep = keep;
    this.#plan = plan;
    this.#inputTokens = inputTokens;
    this.#relay = new Relay(sink, gateway.limits, () => this.#commit());
  }

  async serve(): Promise<void> {
    let expired = false;
    const deadline = setTimeout(() => {
      expired = true;
      this.#relay.cancel();
    }, this.#gateway.limits.requestTimeoutMs);
    try {
      let last: Fault | undefined;
      for (const attempt of this.#plan.attempts.slice(0, this.#gateway.limits.attemptsMax)) {
        const outcome = await this.#try(attempt);
        if (outcome.is !== "failed") {
          await this.#conclude(attempt, outcome);
          return;
        }
        this.#trail.served = undefined;
        const { verdict } = outcome;
        if (verdict.is === "stop") throw verdict.fault;
        if (expired)
          throw fault("upstream_timeout", {
            message: "The request took longer than this gateway allows. Ask for fewer tokens, or stream.",
          });
        last = verdict.last;
      }
      throw last ?? fault("upstream_error", { message: "No endpoint could be tried. Try again." });
    } finally {
      clearTimeout(deadline);
      this.#relay.stop();
    }
  }

  #try(attempt: Attempt): Promise<Outcome> {
    const { endpoint, model } = attempt;
    const createdSeconds = Math.floor(this.#exchange.receivedAtMs / 1000);
    const head = { id: this.#trail.requestId, createdSeconds, model: endpoint.model, inputTokens: this.#inputTokens };
    const lane = laneFor(this.#inbound, { endpoint, model, head });
    this.#lane = lane;
    return tryOnce({ gateway: this.#gateway, trail: this.#trail, attempt, lane, relay: this.#relay });
  }

  /** The commit point of a stream: head and open record, then only this endpoint. */
  #commit(): void {
    this.#trail.answering();
    const { requestId, principal } = this.#trail;
    const atMs = this.#gateway.clock.nowMs();
    // The close of the stream waits for the journal; the opening need not.
    this.#gateway.journal
      .append({ t: "open", id: requestId, workspaceId: principal.workspace.id, atMs, record: this.#trail.open() })
      .catch(() => undefined);
    const headers = this.#headers();
    headers["content-type"] = "text/event-stream; charset=utf-8";
    headers["cache-control"] = "no-cache";
    this.#sink.start(200, headers);
  }

  /** The call's own headers with what every inference answer says; each request has one set of its own. */
  #headers(): Record<string, string> {
    const { baseHeaders } = this.#exchange;
    addHeaders(baseHeaders, this.#trail, this.#plan, this.#lane, this.#inbound.call);
    return baseHeaders;
  }

  #conclude(attempt: Attempt, outcome: Ended): Promise<void> {
    switch (outcome.is) {
      case "whole":
        return this.#answerWhole(attempt, outcome);
      case "relayed":
        return this.#closeStream(attempt, outcome);
      case "broke":
        return this.#breakStream(outcome);
      case "gone":
        return this.#clientGone(attempt, outcome);
    }
  }

  #settle(attempt: Attempt, metered: Metered, end: { status: number; errorCode: string | null }): Promise<Settled> {
    return settleUsed(this.#gateway, this.#trail, attempt, metered, this.#inputTokens, end);
  }

  async #answerWhole(attempt: Attempt, { answer }: Extract<Ended, { is: "whole" }>): Promise<void> {
    this.#trail.upstreamId = answer.upstreamId;
    if (this.#sink.gone) return settleFree(this.#gateway, this.#trail, this.#goneRecord());
    this.#trail.answering();
    const { usage, shown } = await this.#settle(attempt, answer, { status: 200, errorCode: null });
    this.#measure(attempt);
    const body = answer.render(usage, shown);
    if (this.#keep !== undefined) await this.#keep(body);
    const headers = this.#headers();
    headers["content-type"] = "application/json";
    headers["content-length"] = String(Buffer.byteLength(body));
    this.#sink.start(200, headers);
    this.#sink.end(body);
  }

  async #closeStream(attempt: Attempt, { stream }: Extract<Ended, { is: "relayed" }>): Promise<void> {
    this.#trail.upstreamId = stream.upstreamId;
    // The model was done and the client left before the figures came: it is billed by them all the same.
    const end = this.#sink.gone ? GONE : { status: 200, errorCode: null };
    try {
      const { usage, shown } = await this.#settle(attempt, stream, end);
      this.#measure(attempt);
      const last = stream.close(usage, shown);
      if (this.#keep !== undefined && stream.final !== undefined) await this.#keep(stream.final);
      this.#sink.end(last);
    } catch (error) {
      const problem = error instanceof Fault ? error : internalFault(error);
      // The head is out, so nobody above can answer: the hold goes back here, whatever failed.
      await settleFree(this.#gateway, this.#trail, this.#trail.refuse(problem));
      await this.#endBroken(stream, problem);
    }
  }

  /** The stream broke after content had gone out: an error frame, no end marker, no charge. */
  async #breakStream({ stream }: Extract<Ended, { is: "broke" }>): Promise<void> {
    this.#trail.upstreamId = stream.upstreamId;
    const problem = fault("upstream_error", {
      message: "The provider's stream broke before its end. What was sent so far is incomplete and is not charged.",
    });
    await settleFree(
      this.#gateway,
      this.#trail,
      this.#trail.finish({ status: 200, errorCode: problem.code, usage: null, charge: null }),
    );
    await this.#endBroken(stream, problem);
  }

  async #endBroken(stream: AnswerStream, problem: Fault): Promise<void> {
    const last = stream.fail(envelopeOf(problem, this.#trail.requestId));
    if (this.#keep !== undefined && stream.final !== undefined) await this.#keep(stream.final);
    this.#sink.end(last);
  }

  /** Output that was relayed before the client hung up is charged; where nothing was, nothing is. */
  async #clientGone(attempt: Attempt, { stream }: Extract<Ended, { is: "gone" }>): Promise<void> {
    if (stream === undefined || !this.#relay.committed)
      return settleFree(this.#gateway, this.#trail, this.#goneRecord());
    this.#trail.upstreamId = stream.upstreamId;
    const { usage, outputChars } = stream;
    await this.#settle(attempt, { usage, outputChars, cutShort: true }, GONE);
  }

  #goneRecord() {
    return this.#trail.finish({ ...GONE, usage: null, charge: null });
  }

  #measure(attempt: Attempt): void {
    const { startedMs } = this.#exchange;
    const totalMs = this.#gateway.clock.elapsedMs() - startedMs;
    this.#gateway.health.served(attempt.endpoint.id, { firstByteMs: this.#trail.firstByteMs ?? totalMs, totalMs });
  }
}
