import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { DataClassRules, Treatment } from "../../domain/tenancy/data-class-rules.ts";
import type { UpstreamBody } from "../../io/upstream/transport.ts";
import { type InspectedRequest, inspectContent, traceInspection } from "./inspect-content.ts";
import type { PlannedRequest } from "./planned-request.ts";
import type { RequestTrace } from "./record.ts";

/** A body as an endpoint may receive it under the rules of data classes. */
export type GuardedContent = {
  /** Before anything was replaced. */
  readonly original: UpstreamBody;
  readonly body: UpstreamBody;
  readonly treatments: ReadonlyMap<string, Treatment>;
};

type GuardedRun = Pick<PlannedRequest, "currentPolicy"> & {
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
  { trace, inspected, currentPolicy, guard }: GuardedRun,
  body: UpstreamBody,
  { sovereignty }: Pick<Endpoint, "sovereignty">,
): Promise<GuardedContent> {
  if (inspected.inspection === undefined) {
    // The rules came into force while the request ran.
    await inspectContent(inspected);
    traceInspection(trace, inspected.inspection);
  }
  const { inspection } = inspected;
  const rules = currentPolicy()?.dataClasses;
  const original = guard?.original ?? body;
  const treatments =
    rules === undefined || inspection === undefined ? NOTHING : inspection.treatmentsAt(rules, sovereignty.level);
  const treated = treatments.size === 0 ? original : await inspection?.replaceIn(original, treatments);
  return { original, body: treated ?? original, treatments };
}

/** False when the rules in force demand more than was done to the body. */
export function isGuarded(
  { inspected: { content, inspection }, guard }: GuardedRun,
  rules: DataClassRules,
  { sovereignty }: Pick<Endpoint, "sovereignty">,
): boolean {
  if (inspection === undefined) return content === undefined;
  for (const [name, treatment] of inspection.treatmentsAt(rules, sovereignty.level)) {
    const done = guard?.treatments.get(name);
    if (done !== treatment && done !== "redact") return false;
  }
  return true;
}

/** Notes, for the log and the response's header, what was done to the body that is sent now. */
export function traceTreatments(trace: RequestTrace, { treatments }: GuardedContent): void {
  trace.dataAction =
    treatments.size === 0
      ? "none"
      : [...new Set(treatments.values())]
          .map((one) => DONE[one])
          .toSorted()
          .join(",");
  trace.detail = { ...trace.detail, data_action: trace.dataAction };
}

const DONE: Readonly<Record<Treatment, string>> = { redact: "redacted" };
