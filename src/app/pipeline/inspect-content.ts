import type { Surface } from "../../domain/record/record.ts";
import type { Reply } from "../../domain/tenancy/data-class-rules.ts";
import type { Policy } from "../../domain/tenancy/policy.ts";
import { LOGPROB_PARAMETERS } from "../../language/canon/sampling.ts";
import { ContentInspection, type RuleLayers } from "./content-inspection.ts";
import type { CustomClasses } from "./custom-classes.ts";
import type { ExternalDetectors } from "./external-detectors.ts";
import type { RequestOutline } from "./inference-request.ts";
import type { RequestTrace } from "./record.ts";

/** What rules of data classes judge of a request. */
export type InspectedRequest = {
  /** Absent where the content is gone: a replay. */
  readonly content?: () => unknown;
  /** The caller's own name for the conversation. */
  readonly sessionId?: string | undefined;
  /** The same, once it was inspected. */
  inspection?: ContentInspection | undefined;
};

/** The policy of a request with what rules of data classes demand for its content, once that is inspected. */
export function judgeContent(
  policy: Policy,
  { inspection }: InspectedRequest,
  reply: Reply,
  layers: RuleLayers,
): Policy {
  const { dataClasses } = policy;
  return dataClasses === undefined || inspection === undefined
    ? policy
    : inspection.apply(policy, dataClasses, reply, layers);
}

/** Log probabilities of the Gemini dialect, which no other one can request. */
const LOGPROB_FIELDS: ReadonlySet<string> = new Set(["generationConfig.responseLogprobs", "generationConfig.logprobs"]);

/** Their replies hold no text of a model. */
const TEXTLESS: ReadonlySet<Surface> = new Set(["speech", "embeddings", "rerank", "moderations", "images"]);

/** Whether originals can be put back in the reply to a request. */
export function replyTo(
  surface: Surface,
  { requirements: { parameters, otherParameters, nativeFields } }: RequestOutline,
): Reply {
  if (TEXTLESS.has(surface)) return "unrestorable";
  const hasLogprobs =
    LOGPROB_PARAMETERS.some((name) => parameters.includes(name)) ||
    nativeFields?.some((path) => LOGPROB_FIELDS.has(path)) === true ||
    // The only value of a transcription's `include` is `logprobs`.
    otherParameters?.includes("include") === true;
  return hasLogprobs ? "with_logprobs" : "restorable";
}

export type InspectionDeps = {
  readonly customClasses: Pick<CustomClasses, "detectors">;
  readonly externalDetectors: Pick<ExternalDetectors, "read">;
};

type InspectionRun = {
  readonly inspected: InspectedRequest;
  readonly currentPolicy: () => Policy | undefined;
};

/** Inspects, in turns, what a request contains for the rules in force. */
export async function inspectContent(
  { customClasses, externalDetectors }: InspectionDeps,
  { inspected: request, currentPolicy }: InspectionRun,
  workspaceId: string,
): Promise<void> {
  if (request.content === undefined) return;
  const inspection =
    request.inspection ?? new ContentInspection(request.content(), await customClasses.detectors(workspaceId));
  await inspection.finish();
  // Until the inspection is complete, the policy is not yet judged by it.
  if (inspection.external.length > 0) await externalDetectors.read(inspection, currentPolicy, workspaceId);
  request.inspection = inspection;
}

/** True when the content is there and nothing is known of it yet. */
export function isInspectionDue({ content, inspection }: InspectedRequest): boolean {
  return content !== undefined && inspection === undefined;
}

/** Notes classes and counts for the log and the response's header. */
export function traceInspection(trace: RequestTrace, inspection: ContentInspection | undefined): void {
  if (inspection === undefined) return;
  const { counts, detectorCalls } = inspection;
  trace.dataClasses = counts;
  if (Object.keys(counts).length > 0) trace.detail = { ...trace.detail, data_classes: counts };
  if (Object.keys(detectorCalls).length > 0) trace.detail = { ...trace.detail, data_detectors: detectorCalls };
}

/** Classes as `personal=3,secret=1`; `none` when nothing was found. */
export function addDataClassHeaders(
  headers: Record<string, string>,
  { dataClasses = {}, dataAction }: RequestTrace,
): void {
  const found = Object.entries(dataClasses).map(([name, count]) => `${name}=${count}`);
  headers["x-svc-data-classes"] = found.length === 0 ? "none" : found.toSorted().join(",");
  if (dataAction !== undefined) headers["x-svc-data-action"] = dataAction;
}
