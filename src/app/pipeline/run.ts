import { envelopeOf, Fault } from "../../contract/faults.ts";
import { MODEL_NAME_CHARS_MAX } from "../../contract/schemas/model-name.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import { ClientLeft, type Exchange, principalOf, type Sink } from "../exchange.ts";
import { saidIn } from "../request-input.ts";
import { faultOf } from "../to-fault.ts";
import { admit } from "./admit.ts";
import { AdmittedRequest, SettledFault } from "./admitted-request.ts";
import type { Capturing } from "./capture-recorder.ts";
import { gone } from "./client-gone.ts";
import type { Decoded } from "./decoded.ts";
import type { Gateway } from "./gateway-deps.ts";
import { claimKey, hasKey, replay } from "./idempotent-replay.ts";
import { type Errand, headOf } from "./inference-request.ts";
import { demandNoLoop } from "./loop-detection.ts";
import { requireNamedModel } from "./named-model.ts";
import { isTooLong, type Planned, planOutline } from "./plan.ts";
import { type Terms, Trail } from "./request-trace.ts";
import { settleFree } from "./settle.ts";
import { waitForPlace } from "./wait.ts";

/** How a request is read: from its whole body, or from an upload. */
export type Reading = ((body: Buffer) => MaybePromise<Decoded>) | { readonly upload: () => Promise<Arrived> };

export type Arrived = {
  /** What a capture window may keep of it: of an upload its fields alone. */
  readonly asked: Buffer;
  /** Two requests are the same when these bytes are. */
  readonly sameness: Buffer;
  decode(): MaybePromise<Decoded>;
  /** Called when the request is over, however it ended: what it arrived with is let go. */
  over?(): void;
};

function arrivedAs(body: Buffer, reading: (body: Buffer) => MaybePromise<Decoded>): Arrived {
  return { asked: body, sameness: body, decode: () => reading(body) };
}

/** One request, all the way: decode → plan → admit → queue → attempt → relay → settle. Whatever happens is recorded. */
export async function run(
  gateway: Gateway,
  surface: Surface,
  exchange: Exchange,
  sink: Sink,
  reading: Reading,
): Promise<void> {
  const trail = new Trail(exchange, principalOf(exchange), surface, gateway.clock);
  const capturing = gateway.captures.begin(surface, trail.requestId, trail.principal);
  let place: "none" | "taken" = "none";
  let arrived: Arrived | undefined;
  let decoded: Decoded | undefined;
  let waiting: Waiting | undefined;
  try {
    demandNoLoop(trail.hops, gateway.hops.mark);
    arrived = typeof reading === "function" ? arrivedAs(await exchange.body(), reading) : await reading.upload();
    if (hasKey(exchange)) {
      const first = await claimKey(gateway, trail, exchange, arrived.sameness);
      if (first !== undefined) {
        capturing?.leaveOut();
        noteAsked(trail, arrived.asked);
        await gateway.ending?.(trail.requestId, "less");
        return await replay({ gateway, trail, exchange, sink, surface, asked: arrived.asked }, first);
      }
    }
    capturing?.asked(arrived.asked);
    const soon = arrived.decode();
    decoded = soon instanceof Promise ? await soon : soon;
    if (capturing !== undefined) decoded = captured(capturing, decoded, sink);
    gateway.recheck(exchange);
    let planned = planErrand(gateway, trail, surface, decoded.errand);
    if (isTooLong(planned.plan) && decoded.errand.counted !== undefined) {
      // An estimate is no reason to refuse what can be counted.
      decoded = { ...decoded, errand: await decoded.errand.counted(gateway.tokens) };
      gateway.recheck(exchange);
      planned = planErrand(gateway, trail, surface, decoded.errand);
    }
    const { plan, policyNow, otherRouter } = planned;
    const { errand } = decoded;
    if (plan.is === "refused") throw plan.fault;
    waiting = { errand, plan };
    const admitting = admit(gateway, trail, plan, errand);
    if (admitting instanceof Promise) await admitting;
    const deadlineMs = gateway.clock.monotonicMs() + gateway.limits.requestTimeoutMs;
    if (gateway.queue.tryEnter() === "wait") {
      if ((await waitForPlace(gateway, trail, sink)) === "left") return await settleFree(gateway, trail, gone(trail));
      place = "taken";
      gateway.recheck(exchange);
    }
    place = "taken";
    waiting = undefined;
    if (decoded.admitted !== undefined) await decoded.admitted();
    const admitted = { plan, policyNow, otherRouter, deadlineMs };
    await new AdmittedRequest(gateway, trail, exchange, decoded.sink ?? sink, decoded, admitted).serve();
  } catch (error) {
    if (decoded === undefined && arrived !== undefined) noteAsked(trail, arrived.asked);
    const found = problemOf(error);
    // What is wrong with the request itself is said before what it wants in money or room.
    const problem = (WANTING.has(found.status) && waiting && unsaidBy(exchange, trail, waiting)) || found;
    if (!(error instanceof SettledFault)) {
      await gateway.ending?.(trail.requestId, "less");
      await settleFree(gateway, trail, error instanceof ClientLeft ? gone(trail) : trail.refuse(problem));
    }
    capturing?.answered(JSON.stringify(envelopeOf(problem, trail.requestId)));
    throw decoded?.inCallersWords?.(problem) ?? problem;
  } finally {
    if (place === "taken") gateway.queue.leave();
    capturing?.end();
    arrived?.over?.();
    if (trail.keyUse !== undefined) await gateway.state.releaseClaim(trail.keyUse.key, trail.requestId);
  }
}

/** What the log says of a request that is not decoded: as it was sent, right or wrong. What is too long is no name. */
export function noteAsked(trail: Trail, asked: Buffer): void {
  const { model, stream } = saidIn(asked) ?? {};
  if (typeof model === "string" && model.length <= MODEL_NAME_CHARS_MAX) trail.modelRequested = model;
  trail.streaming = stream === true;
}

/** The same request, listened to for the capture window it is in. */
function captured(capturing: Capturing, decoded: Decoded, sink: Sink): Decoded {
  const { provider } = decoded.errand.outline.wishes ?? {};
  if (provider?.zeroDataRetention === true) capturing.leaveOut();
  const { keep } = decoded;
  if (decoded.sink === undefined || keep === undefined)
    return { ...decoded, sink: capturing.through(decoded.sink ?? sink) };
  return {
    ...decoded,
    sink: capturing.through(decoded.sink),
    // Who asked for work in the background is shown its whole answer in the end.
    keep(final, headers) {
      capturing.answered(final);
      return keep(final, headers);
    },
  };
}

function planErrand(gateway: Gateway, trail: Trail, surface: Surface, errand: Errand): Planned {
  trail.modelRequested = errand.outline.model;
  trail.streaming = errand.streaming;
  trail.detail = errand.detail;
  requireNamedModel(errand.outline.model, surface);
  const { workspace, key } = trail.principal;
  const planned = planOutline(gateway, { surface, workspace, keyId: key.id, outline: errand.outline });
  trail.plan = planned.plan;
  // In the same turn as the plan: a rate or a margin that changes now is for the next request.
  trail.terms = termsOf(gateway, workspace.id, errand);
  return planned;
}

const WANTING: ReadonlySet<number> = new Set([402, 429]);

/** A request with a plan, as long as money or room may still be wanting for it. */
type Waiting = { readonly errand: Errand; readonly plan: Plan };

/** Why no endpoint of the plan can be told the request; undefined when one can. */
function unsaidBy(exchange: Exchange, trail: Trail, { errand, plan }: Waiting): Fault | undefined {
  let first: Fault | undefined;
  for (const attempt of plan.attempts) {
    try {
      const { lane } = errand.wayTo(attempt, plan, headOf(exchange, trail, errand, attempt));
      if (lane.parts === undefined) lane.encode();
      return undefined;
    } catch (error) {
      if (!(error instanceof Fault)) return undefined;
      first ??= error;
    }
  }
  return first;
}

function termsOf(gateway: Gateway, workspaceId: string, { outline: { demand } }: Errand): Terms {
  const { extras, maxOutputTokens } = demand;
  const limited = maxOutputTokens === undefined ? "no" : "yes";
  return { currencies: gateway.snapshot().currencies, margin: gateway.margins.marginFor(workspaceId), extras, limited };
}

function problemOf(error: unknown): Fault {
  return error instanceof SettledFault ? error.fault : faultOf(error);
}
