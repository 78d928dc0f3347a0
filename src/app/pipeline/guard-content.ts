import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import { Restorer } from "../../domain/data-classes/restore.ts";
import type { StandIns } from "../../domain/data-classes/stand-ins.ts";
import {
  type DataClassRules,
  type OutputAction,
  outputActions,
  type Treatment,
} from "../../domain/tenancy/data-class-rules.ts";
import type { UpstreamBody } from "../../io/upstream/transport.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import { inTurns } from "../../kit/in-turns.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { type InspectedRequest, inspectContent, traceInspection } from "./inspect-content.ts";
import { filteredDecoding } from "./output-rules.ts";
import type { PlannedRequest } from "./planned-request.ts";
import type { RequestTrace } from "./record.ts";
import { conversationOf } from "./request-stand-ins.ts";
import { restoredDecoding } from "./restore-reply.ts";

/** A body as an endpoint may receive it under the rules of data classes. */
export type GuardedContent = {
  /** Before anything was replaced. */
  readonly original: UpstreamBody;
  readonly body: UpstreamBody;
  readonly treatments: ReadonlyMap<string, Treatment>;
  /** What rules do with the reply. */
  readonly outputs: ReadonlyMap<string, OutputAction>;
  /** As the attempt began; `restoring` puts originals back in the place of stand-ins. */
  readonly adapter: UpstreamAdapter;
  readonly restoring: UpstreamAdapter;
};

type GuardedRun = Pick<PlannedRequest, "currentPolicy"> & {
  readonly gateway: Pick<GatewayDeps, "standInKey" | "customClasses" | "externalDetectors">;
  readonly adapter: UpstreamAdapter;
  readonly trace: RequestTrace;
  readonly inspected: InspectedRequest;
  readonly guard?: GuardedContent;
};

const NOTHING: ReadonlyMap<string, Treatment> = new Map();

/**
 * The one place where a request is changed for an endpoint: whatever adapter wrote the body, it is read again as it would be
 * sent. Throws when a class may be processed nowhere.
 */
export async function guardContent(
  run: GuardedRun,
  body: UpstreamBody,
  { sovereignty }: Pick<Endpoint, "sovereignty">,
): Promise<GuardedContent> {
  const { gateway, trace, inspected, currentPolicy, guard } = run;
  if (inspected.inspection === undefined) {
    // The rules came into force while the request ran.
    await inspectContent(gateway, { inspected, currentPolicy }, trace.principal.workspace.id);
    traceInspection(trace, inspected.inspection);
  }
  const { inspection } = inspected;
  const rules = currentPolicy()?.dataClasses;
  const original = guard?.original ?? body;
  const treatments =
    rules === undefined || inspection === undefined ? NOTHING : inspection.treatmentsAt(rules, sovereignty.level);
  const adapter = guard?.adapter ?? run.adapter;
  const outputs = outputActions(rules ?? {});
  const filter = rules && inspection?.outputFilter(rules);
  const filtered = (own: UpstreamAdapter) =>
    filter === undefined ? own : filteredDecoding(own, filter, trace.surface);
  if (inspection === undefined || treatments.size === 0)
    return { original, body: original, treatments, outputs, adapter, restoring: filtered(adapter) };
  // Answers to decisions name the questions and options as the provider received them.
  const isEchoed = trace.surface === "decisions";
  let standIns: StandIns | undefined;
  if (isEchoed || [...treatments.values()].includes("pseudonymise")) {
    const key = await gateway.standInKey(trace.principal.workspace.id);
    standIns = await inspection.standIns(key, conversationOf(inspected.content?.(), inspected.sessionId));
  }
  const treated = await inspection.replaceIn(original, treatments, standIns, isEchoed);
  // Some repeat a header of the caller.
  const writtenHeaders = JSON.stringify(adapter.headers);
  const headers = await inspection.replaceIn(writtenHeaders, treatments, standIns, isEchoed);
  const treatedAdapter =
    headers === writtenHeaders || typeof headers !== "string" ? adapter : { ...adapter, headers: JSON.parse(headers) };
  const restorer = standIns && (await inTurns(Restorer.build(standIns.originals)));
  const restoring =
    restorer === undefined
      ? treatedAdapter
      : { ...treatedAdapter, ...restoredDecoding(adapter, restorer, trace.surface) };
  return { original, body: treated, treatments, outputs, adapter, restoring: filtered(restoring) };
}

/** False when the rules in force demand more than was done to the body. */
export function isGuarded(
  { inspected: { content, inspection }, guard }: Pick<GuardedRun, "inspected" | "guard">,
  rules: DataClassRules,
  { sovereignty }: Pick<Endpoint, "sovereignty">,
): boolean {
  if (inspection === undefined) return content === undefined;
  for (const [name, treatment] of inspection.treatmentsAt(rules, sovereignty.level)) {
    const done = guard?.treatments.get(name);
    if (done !== treatment && done !== "redact") return false;
  }
  return [...outputActions(rules)].every(([name, action]) => guard?.outputs.get(name) === action);
}

/** Notes, for the log and the response's header, what was done to the body that is sent now. */
export function traceTreatments(trace: RequestTrace, { treatments }: GuardedContent): void {
  trace.dataAction = describeTreatments(treatments);
  trace.detail = { ...trace.detail, data_action: trace.dataAction };
}

/** `none`, `pseudonymised`, `redacted` or both. */
export function describeTreatments(treatments: ReadonlyMap<string, Treatment>): string {
  if (treatments.size === 0) return "none";
  const done = [...new Set(treatments.values())].map((one) => DONE[one]);
  return done.toSorted().join(",");
}

const DONE: Readonly<Record<Treatment, string>> = {
  pseudonymise: "pseudonymised",
  redact: "redacted",
};
