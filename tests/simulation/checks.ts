import type { HoldRequest, HoldVerdict } from "../../src/domain/admission/shared-state.ts";
import type { RequestRecord } from "../../src/domain/record/record.ts";
import type { JournalEntry } from "../../src/io/journal/journal.ts";
import { type ClientRequest, priceWhenPlanned } from "./client-request.ts";
import { hiddenFrom, joinedParts } from "./data-classes.ts";
import { eligibleFor } from "./eligible.ts";
import { type Call, wasRejectedBy } from "./network.ts";
import { costOf, dataRulesOf, forbidden, isCheapEnough, isGoodEnough, type Layers } from "./oracle.ts";
import { tokenOf } from "./process.ts";
import { routerKey } from "./tenants.ts";
import type { World } from "./world.ts";

type Arrival = { readonly address: string; readonly authorization: string | undefined; readonly body: string };

/** Fetching a credential may take this long between permission and call. */
const LEAVE_MS = 500;
/** What a request does between its slot and its first call. */
const ADMITTED_MS = 100;
const BUDGET = { share: 0.2, least: 3 };

/** The invariants: checked for every upstream call, every money operation and every end. */
export class Checks {
  readonly #world: World;
  readonly #active: { readonly atMs: number; readonly count: number }[] = [];
  /** What each wallet of the running process must hold, counted separately. */
  readonly #purses = new Map<string, { nanos: bigint; heldNanos: bigint }>();

  constructor(world: World) {
    this.#world = world;
  }

  /** The layers in force for a request at this moment. */
  layersOf(visit: ClientRequest): Layers | undefined {
    const { inForce } = this.#world;
    const workspace = inForce.workspaces.get(visit.workspaceId);
    if (workspace === undefined) return undefined;
    const slug = routerSlug(visit);
    const now = slug === undefined ? undefined : inForce.routers.get(routerKey(visit.workspaceId, slug));
    const routers = [visit.planned?.router, now?.spec].filter((spec) => spec !== undefined);
    const key = inForce.keys.get(visit.keyId)?.policy ?? null;
    return { workspace: workspace.policy, key, routers, hints: visit.hints, data: visit.data };
  }

  /** A request reaches an endpoint. */
  onUpstreamCall(visit: ClientRequest, call: Call, arrival: Arrival): void {
    const { endpointId, trouble, provider } = call;
    this.#world.note(`${visit.mark} asks ${endpointId} (${trouble})`);
    const report = (rule: string, what: string) => this.#world.broken(rule, `${visit.mark} at ${endpointId}: ${what}`);
    if (visit.state !== "running") report("end", "asked after its end");
    this.#expectAllowedAttempt(visit, endpointId, arrival, report);
    this.#expectHiddenData(visit, endpointId, arrival, report);
    this.#expectRequestedModel(visit, endpointId, report);
    this.#isWithinBounds(visit, call, report);
    this.#expectClosedCircuit(visit, call, report);
    if (visit.held?.is !== "open") report("money", "no money is reserved");
    if (visit.sink.started) report("content", "content had reached the caller");
    if (visit.sink.disconnected) report("end", "the caller had hung up");
    if (visit.calls.length === 0 && this.#wasRevoked(visit)) report("key", "its key was revoked before it began");
    const { authorization } = arrival;
    if (authorization?.replace("Bearer ", "") !== tokenOf(provider)) report("tenancy", "another's credential, or none");
  }

  /** Long enough ago that the request cannot have been admitted before; each failing credential takes time. */
  #wasRevoked({ keyId }: ClientRequest): boolean {
    const { revokedAtMs, shape, scheduler } = this.#world;
    const sinceMs = scheduler.monotonicMs() - (revokedAtMs.get(keyId) ?? scheduler.monotonicMs());
    return sinceMs > (shape.minted.length === 0 ? ADMITTED_MS : LEAVE_MS * (1 + shape.attemptsMax));
  }

  #expectAllowedAttempt(visit: ClientRequest, endpointId: string, { address }: Arrival, report: Report): void {
    const { catalogue, connected } = this.#world;
    const layers = this.layersOf(visit);
    const why = layers === undefined ? "its workspace is gone" : forbidden(endpointId, catalogue, layers);
    if (why !== undefined) report("policy", why);
    else if (catalogue.byAddress.get(address) !== endpointId) report("policy", "it has moved away from this address");
    else if (!connected.has(endpointId.split(":")[0] ?? "")) report("policy", "its provider is not connected");
  }

  /** No original reaches a level below its rule, in one piece or in the parts of a message. */
  #expectHiddenData(visit: ClientRequest, endpointId: string, { body }: Arrival, report: Report): void {
    const layers = this.layersOf(visit);
    const level = this.#world.catalogue.snapshot.endpoints.get(endpointId)?.sovereignty.level;
    if (layers === undefined || level === undefined) return;
    const read = joinedParts(body);
    for (const text of hiddenFrom(dataRulesOf(layers), visit.data, level)) {
      this.#world.count("data hidden");
      if (read.includes(text)) report("data", `it was shown ${text}`);
    }
    if (Object.values(visit.data).some((text) => read.includes(text))) this.#world.count("data shown");
  }

  /** The requested model, or one that the caller's own router may choose. */
  #expectRequestedModel(visit: ClientRequest, endpointId: string, report: Report): void {
    const { planned, model, hints, workspaceSlug } = visit;
    const served = planned?.catalogue.snapshot.endpoints.get(endpointId)?.model;
    if (planned === undefined || served === undefined) {
      report("model", "it was not there when it was planned");
      return;
    }
    if (model.startsWith("@")) {
      if (!model.startsWith(`@${workspaceSlug}/`)) report("router", "a router of another workspace");
      else if (planned.router === undefined) report("router", "a router that is not there");
    } else if (model !== "auto" && served !== model) report("model", `${model} was requested`);
    if (planned.router !== undefined && !isGoodEnough(served, planned.catalogue, planned.router))
      report("model", "below the quality floor");
    const price = priceWhenPlanned(visit, endpointId);
    if (price === undefined || !isCheapEnough(price, hints)) report("model", "dearer than the request allows");
  }

  #isWithinBounds(visit: ClientRequest, { endpointId, isFurther }: Call, report: Report): void {
    const { shape, network, visits } = this.#world;
    const { calls, hints } = visit;
    if (network.isBusyFor(visit)) report("retry", "two attempts at once");
    const before = calls.filter((call) => call.endpointId === endpointId).length;
    if (before > 0 && !wasRejectedBy(visit, endpointId)) report("retry", "asked twice, and it may have been accepted");
    if (before > 1) report("retry", "asked a third time");
    if (calls.some(({ trouble }) => trouble === "400" || trouble === "content_policy"))
      report("retry", "the request itself had been refused");
    const others = calls.filter((call) => call.endpointId !== endpointId).length;
    if (others > 0 && hints.provider?.allow_fallbacks === false) report("retry", "fallbacks are not allowed");
    if (calls.length + 1 > shape.attemptsMax + 1 || others + 1 > shape.attemptsMax)
      report("retry", "too many attempts");
    const further = network.furtherOpen + 1;
    const most = Math.max(BUDGET.least, Math.floor(BUDGET.share * this.#mostActive()));
    if (isFurther && further > most) report("retry", `${further} further attempts at once, the budget is ${most}`);
    const served = visits.filter((one) => one.state === "running" && network.isBusyFor(one)).length + 1;
    if (shape.queue.slots > 0 && served > shape.queue.slots) report("queue", `${served} requests are served at once`);
    const there = network.openAt(endpointId) + 1;
    if (shape.slotsPerEndpoint > 0 && there > shape.slotsPerEndpoint)
      report("queue", `${there} at once at one endpoint`);
  }

  /** An endpoint with an open circuit is tried last: never first while there is one that never failed. */
  #expectClosedCircuit(visit: ClientRequest, { endpointId }: Call, report: Report): void {
    const { circuits, shape, changedAtMs, scheduler } = this.#world;
    const plannedAtMs = visit.planned?.atMs ?? 0;
    const sinceMs = circuits.since(endpointId, scheduler.monotonicMs());
    if (sinceMs === undefined || sinceMs >= plannedAtMs || changedAtMs >= plannedAtMs) return;
    // Others may have been skipped for reasons that are not visible here.
    if (visit.calls.length > 0 || shape.slotsPerEndpoint > 0 || shape.minted.length > 0) return;
    const better = eligibleFor(this.#world, visit).find((id) => circuits.isSpotless(id));
    if (better !== undefined) report("circuit", `its circuit is open, and ${better} was not called`);
  }

  /** The maximum number of requests in flight since an attempt could have been permitted. */
  #mostActive(): number {
    const sinceMs = this.#world.scheduler.monotonicMs() - LEAVE_MS;
    let most = 0;
    for (let at = this.#active.length - 1; at >= 0; at -= 1) {
      const sample = this.#active[at];
      if (sample === undefined) break;
      most = Math.max(most, sample.count);
      if (sample.atMs < sinceMs) break;
    }
    return most;
  }

  /** A request began or ended. */
  activeChanged(): void {
    const count = this.#world.visits.filter(({ state }) => state === "running").length;
    this.#active.push({ atMs: this.#world.scheduler.monotonicMs(), count });
    const queue = this.#world.process?.queue;
    if (queue !== undefined && queue.queued > this.#world.shape.queue.queuedMax)
      this.#world.broken("queue", `${queue.queued} wait`);
  }

  /** A process starts with the ledger's balances. */
  started(): void {
    this.#purses.clear();
  }

  credited(workspaceId: string, nanos: bigint): void {
    this.#purse(workspaceId).nanos += nanos;
  }

  held({ requestId, nanos, workspaceId }: HoldRequest, verdict: HoldVerdict): void {
    const visit = this.#visit(requestId);
    if (visit === undefined || verdict.is !== "held") return;
    if (visit.held !== undefined) this.#world.broken("money", `${visit.mark} is held twice`);
    visit.held = { nanos, is: "open" };
    const purse = this.#purse(workspaceId);
    purse.heldNanos += nanos;
    if (nanos < 0n || purse.heldNanos > purse.nanos)
      this.#world.broken("money", `${visit.mark} holds ${nanos}: ${purse.heldNanos} of ${purse.nanos} are held`);
  }

  settled(requestId: string, nanos: bigint): void {
    const visit = this.#visit(requestId);
    if (visit === undefined) return;
    const isOpen = visit.held?.is === "open";
    if (nanos !== 0n && !isOpen) this.#world.broken("money", `${visit.mark} is charged ${nanos} without a hold`);
    if (visit.held === undefined || !isOpen) return;
    visit.chargedNanos += nanos;
    visit.held.is = "ended";
    const purse = this.#purse(visit.workspaceId);
    purse.heldNanos -= visit.held.nanos;
    purse.nanos -= nanos;
  }

  #purse(workspaceId: string): { nanos: bigint; heldNanos: bigint } {
    const known = this.#purses.get(workspaceId);
    if (known !== undefined) return known;
    const purse = { nanos: 0n, heldNanos: 0n };
    this.#purses.set(workspaceId, purse);
    return purse;
  }

  finished({ id }: RequestRecord): void {
    const visit = this.#visit(id);
    if (visit !== undefined) visit.finished += 1;
  }

  unwritten(entry: JournalEntry): void {
    const visit = this.#visit(entry.record.id);
    if (entry.t === "done" && visit !== undefined) visit.refusedByJournal += 1;
  }

  /** A finished record is on the disk. */
  written(record: RequestRecord): void {
    const visit = this.#visit(record.id);
    if (visit === undefined) {
      this.#world.broken("record", `without a request: ${record.id}`);
      return;
    }
    visit.records.push(record);
    const { status, errorCode, charge } = record;
    this.#world.note(`${visit.mark} recorded ${status} ${errorCode ?? "-"} ${charge?.nanos ?? "free"}`);
    const report = (rule: string, what: string) => this.#world.broken(rule, `${visit.mark}: ${what}`);
    if (visit.records.length > 1) report("record", "a second record");
    this.#isPriced(visit, record, report);
    let at = 0;
    for (const { endpoint } of record.attempts) if (visit.calls[at]?.endpointId === endpoint) at += 1;
    if (at < visit.calls.length) report("record", `its attempts do not show ${visit.calls[at]?.endpointId}`);
    this.#isOwnSession(visit, record, report);
  }

  /** A session is known to its own workspace only. */
  #isOwnSession({ no, workspaceId, hints }: ClientRequest, { decision }: RequestRecord, report: Report): void {
    const session = decision?.session;
    if (session === undefined) return;
    const isKnown = this.#world.visits.some(
      (one) =>
        one.no !== no &&
        one.workspaceId === workspaceId &&
        one.hints.session_id === hints.session_id &&
        one.calls.some(({ endpointId }) => endpointId === session.endpoint),
    );
    if (!isKnown) report("tenancy", "a conversation of another workspace");
  }

  #isPriced(visit: ClientRequest, { status, errorCode, charge, endpoint }: RequestRecord, report: Report): void {
    const isAnswer = status === 200 && errorCode === null;
    if (charge === null) {
      if (isAnswer) report("money", "a response without a charge");
      return;
    }
    if (!isAnswer && errorCode !== "client_disconnected") report("money", `a failure is charged: ${errorCode}`);
    const call = visit.calls.at(-1);
    const price = endpoint === null ? undefined : priceWhenPlanned(visit, endpoint);
    if (call === undefined || call.endpointId !== endpoint || price === undefined) {
      report("money", "charged without an endpoint");
      return;
    }
    const nanos = BigInt(charge.nanos);
    const worth = costOf(price, call.answer.used, visit.currency);
    const isPlain = call.answer.figures === "honest" && (call.trouble === "well" || call.trouble === "talks_on");
    const heldNanos = visit.held?.nanos ?? 0n;
    if (nanos < 0n || charge.currency !== visit.currency) report("money", `a charge of ${nanos} ${charge.currency}`);
    if (isAnswer && isPlain && nanos !== worth) report("money", `charged ${nanos}, worth ${worth}`);
    if (isPlain && nanos > heldNanos) report("money", `charged ${nanos} within its limits, held ${heldNanos}`);
    if (!isAnswer && !visit.sink.started) report("money", "charged, and the caller saw nothing of it");
    if (nanos > worth && nanos > heldNanos) report("money", `charged ${nanos}, worth ${worth}, held ${heldNanos}`);
  }

  #visit(requestId: string): ClientRequest | undefined {
    return this.#world.visits[Number(requestId.slice("req_".length)) - 1];
  }
}

export type Report = (rule: string, what: string) => void;

/** The router of a request; undefined for a plain model. */
export function routerSlug({ model }: ClientRequest): string | undefined {
  if (model === "auto") return "auto";
  return model.startsWith("@") ? model.slice(model.indexOf("/") + 1) : undefined;
}
