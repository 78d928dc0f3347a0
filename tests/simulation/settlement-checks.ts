import { Fault } from "../../src/contract/faults.ts";
import type { Report } from "./checks.ts";
import type { ClientRequest } from "./client-request.ts";
import { eligibleFor } from "./eligible.ts";
import type { World } from "./world.ts";

/** The handler returned: the edge sends what is left to send, and everything about the request must be settled. */
export function ended(world: World, visit: ClientRequest, error: unknown): void {
  const { sink } = visit;
  visit.state = "over";
  if (error !== undefined) {
    visit.refusal = error instanceof Fault ? error.code : "not_a_fault";
    if (sink.started) sink.abort();
    else sink.refuse(error instanceof Fault ? error.status : 500);
  }
  world.note(`${visit.mark} ends: ${sink.state} ${sink.status} ${visit.refusal ?? "-"} ${sink.text.length}`);
  const report: Report = (rule, what) => world.broken(rule, `${visit.mark}: ${what}`);
  if (visit.refusal === "not_a_fault") report("end", String(error));
  if (visit.refusal === "internal_error") report("end", error instanceof Fault ? JSON.stringify(error.detail) : "");
  endsOnce(visit, report);
  isRecorded(world, visit, report);
  isForItsCaller(visit, report);
  isInTime(world, visit, report);
  if (visit.when === "in_calm") isServed(world, visit, report);
  world.checks.activeChanged();
}

function endsOnce({ sink, refusal }: ClientRequest, report: Report): void {
  for (const abuse of sink.abuses) report("end", abuse);
  if (sink.state === "open") report("end", "it has no end");
  if (sink.ends > 1) report("end", "it has two ends");
  if (refusal !== undefined && sink.state === "cut") report("end", `cut after content, without a word: ${refusal}`);
}

/** One record, the hold released, and no response that the ledger does not know. */
function isRecorded({ disk }: World, visit: ClientRequest, report: Report): void {
  const { finished, records, refusedByJournal, held, sink } = visit;
  if (finished !== 1) report("record", `told ${finished} times that it is over`);
  if (records.length + refusedByJournal === 0) report("record", "it has none");
  if (held?.is === "open") report("money", "its hold is still open");
  if (visit.chargedNanos !== BigInt(records[0]?.charge?.nanos ?? 0)) report("money", "wallet and record disagree");
  const record = disk.record(visit.id);
  if (!isWhole(visit)) {
    const isPaid = sink.state === "ended" && record?.charge != null;
    if (isPaid && !tookTooLong(visit)) report("money", "charged for an answer that was not whole");
    return;
  }
  if (record?.charge == null || record.status !== 200) report("money", "answered whole, and not in the books");
  const trouble = visit.calls.at(-1)?.trouble ?? "none";
  if (!(visit.streaming ? WHOLE_STREAMS : WHOLE_ANSWERS).has(trouble)) report("content", `whole out of ${trouble}`);
}

/** Whatever else a provider does, its reply is not complete. */
const WHOLE_ANSWERS: ReadonlySet<string> = new Set(["well", "lie", "cut_before_figures"]);
const WHOLE_STREAMS: ReadonlySet<string> = new Set(["well", "lie", "talks_on"]);
/** The longest wait for usage, and for the disk. */
const AROUND_MS = 2500;

function isInTime({ scheduler, shape }: World, visit: ClientRequest, report: Report): void {
  const tookMs = scheduler.monotonicMs() - (visit.planned?.atMs ?? scheduler.monotonicMs());
  if (tookMs > shape.requestTimeoutMs + AROUND_MS) report("liveness", `it took ${tookMs} ms`);
}

/** A client that reads too slowly until its time is up counts as disconnected. */
function tookTooLong({ sink, streaming, records }: ClientRequest): boolean {
  return streaming && sink.wasSlow && records[0]?.status === 499 && sink.text.includes("read so slowly");
}

/** Whether the caller received everything. */
function isWhole({ sink, streaming }: ClientRequest): boolean {
  return sink.state === "ended" && sink.status === 200 && (!streaming || sink.text.endsWith("data: [DONE]\n\n"));
}

function isForItsCaller(visit: ClientRequest, report: Report): void {
  const { sink, mark, calls, planned } = visit;
  for (const [found] of sink.text.matchAll(/<c\d+>/g)) if (found !== mark) report("tenancy", `it was shown ${found}`);
  if (sink.status !== 200) return;
  const last = calls.at(-1);
  if (sink.headers["x-svc-provider"] !== last?.provider) report("record", "the headers name another provider");
  const model = last === undefined ? undefined : planned?.catalogue.snapshot.endpoints.get(last.endpointId)?.model;
  if (sink.headers["x-svc-model"] !== model) report("record", "the headers name another model");
}

/** All faults are over: every request that may be served is, and every other one is refused. */
function isServed(world: World, visit: ClientRequest, report: Report): void {
  const { sink, refusal } = visit;
  const open = eligibleFor(world, visit);
  const isAnswered = sink.status === 200 && isWhole(visit);
  if (open.length > 0 && !isAnswered)
    report("liveness", `${refusal ?? sink.status} although ${open.join()} may serve it`);
  if (open.length === 0 && isAnswered) report("liveness", "served although no endpoint may");
  if (open.length === 0 && refusal !== undefined && !REFUSALS.has(refusal)) report("liveness", `refused as ${refusal}`);
  const isForeign = visit.model.startsWith("@") && visit.planned?.router === undefined;
  if (isForeign && refusal !== "router_not_found") report("router", `answered as ${refusal}`);
}

const REFUSALS: ReadonlySet<string> = new Set([
  "model_not_found",
  "router_not_found",
  "model_not_permitted",
  "sovereignty_floor_not_met",
  "compute_country_not_allowed",
  "zero_data_retention_required",
  "no_training_required",
  "provider_blocked",
  "no_eligible_endpoint",
  "data_class_not_permitted",
]);
