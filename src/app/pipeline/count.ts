import { Fault, fault } from "../../contract/faults.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import { cannotCount, countLane } from "../../io/upstream/count-messages.ts";
import type { InboundMessages, Lane } from "../../io/upstream/lane.ts";
import { countableOf } from "../../language/canon/counting.ts";
import { estimateTextTokens } from "../../language/canon/needs.ts";
import type { Exchange, Sink } from "../exchange.ts";
import { tryOnce } from "./attempt.ts";
import { addHeaders } from "./headers.ts";
import type { Ended } from "./outcome.ts";
import { Relay } from "./relay.ts";
import { GONE, internalFault, planFor, principalOf } from "./run.ts";
import { settleFree } from "./settle.ts";
import { Trail } from "./trail.ts";
import type { Gateway } from "./world.ts";

/**
 * How many tokens a request of the messages dialect has: planned as the request itself would be, so that no endpoint
 * sees it that may not; asked of the provider where it counts in this dialect, else counted here. Nothing is held or
 * charged.
 */
export async function countTokens(
  gateway: Gateway,
  exchange: Exchange,
  sink: Sink,
  decode: (body: Buffer) => InboundMessages,
): Promise<void> {
  const trail = new Trail(exchange, principalOf(exchange), "messages", gateway.clock);
  const relay = new Relay(sink, gateway.limits, () => undefined);
  const deadline = setTimeout(() => relay.cancel(), gateway.limits.requestTimeoutMs);
  try {
    const inbound = decode(await exchange.body());
    gateway.recheck(exchange);
    trail.modelRequested = inbound.call.model;
    // What is too long for every endpoint can be counted all the same: that is why one counts.
    const plan = planFor(gateway, "messages", trail.principal, inbound, 0);
    trail.plan = plan;
    const asked = await askProviders(gateway, trail, relay, inbound, plan);
    if (asked.is === "gone") {
      await settleFree(gateway, trail, trail.finish({ ...GONE, usage: null, charge: null }));
      return;
    }
    const body =
      asked.is === "answered" ? asked.body : JSON.stringify({ input_tokens: await counted(gateway, inbound) });
    trail.answering();
    await settleFree(gateway, trail, trail.finish({ status: 200, errorCode: null, usage: null, charge: null }));
    const headers = exchange.baseHeaders;
    addHeaders(headers, trail, plan, asked.is === "answered" ? asked.lane : undefined, inbound.call);
    if (asked.is === "nobody") {
      headers["x-svc-model"] = plan.attempts[0]?.endpoint.model ?? inbound.call.model;
      headers["x-svc-route-reason"] = "estimated by the gateway: no provider was asked for the count";
    }
    headers["content-type"] = "application/json";
    headers["content-length"] = String(Buffer.byteLength(body));
    sink.start(200, headers);
    sink.end(body);
  } catch (error) {
    const problem = error instanceof Fault ? error : internalFault(error);
    await settleFree(gateway, trail, trail.refuse(problem));
    throw problem;
  } finally {
    clearTimeout(deadline);
    relay.stop();
  }
}

type Asked =
  | { readonly is: "answered"; readonly body: string; readonly lane: Lane }
  /** No planned endpoint counts: it is done here. */
  | { readonly is: "nobody" }
  | { readonly is: "gone" };

async function askProviders(
  gateway: Gateway,
  trail: Trail,
  relay: Relay,
  inbound: InboundMessages,
  plan: Plan,
): Promise<Asked> {
  let last: Fault | undefined;
  let unable = false;
  for (const attempt of plan.attempts.slice(0, gateway.limits.attemptsMax)) {
    const { endpoint, model } = attempt;
    const head = { id: trail.requestId, createdSeconds: 0, model: endpoint.model, inputTokens: 0 };
    const lane = countLane(inbound, { endpoint, model, head });
    if (lane === undefined) return { is: "nobody" };
    const outcome = await tryOnce({ gateway, trail, attempt, lane, relay });
    if (outcome.is !== "failed") return concluded(outcome, lane);
    trail.served = undefined;
    const { verdict } = outcome;
    if (verdict.is === "next") last = verdict.last;
    else if (cannotCount(verdict.fault.message)) unable = true;
    else throw verdict.fault;
  }
  if (unable) return { is: "nobody" };
  throw last ?? fault("upstream_error", { message: "No endpoint could be tried. Try again." });
}

function concluded(outcome: Ended, lane: Lane): Asked {
  if (outcome.is === "gone") return { is: "gone" };
  if (outcome.is !== "whole") throw new Error("a count came as a stream");
  return { is: "answered", body: outcome.answer.render(NOTHING_USED, undefined), lane };
}

const NOTHING_USED = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
} as const;

/** By a tokenizer that is not the model's own; by length where that one is too busy. */
async function counted(gateway: Gateway, { call }: InboundMessages): Promise<number> {
  const { texts, otherTokens } = countableOf(call);
  const tokens = await gateway.tokens.count(texts);
  return otherTokens + (tokens ?? texts.reduce((sum, text) => sum + estimateTextTokens(text), 0));
}
