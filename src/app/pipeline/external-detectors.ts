import { type Fault, fault } from "../../contract/faults.ts";
import { nodeLevel } from "../../domain/catalogue/node-catalogue.ts";
import {
  callsFor,
  type Detection,
  type DetectorCall,
  type DetectorResult,
  type ExternalClass,
  type ExternalDetector,
  readReply,
  requestBody,
} from "../../domain/data-classes/external-detector.ts";
import { excludedByPolicy, type PolicyFacts } from "../../domain/routing/policy.ts";
import { judgeDataClasses, levelNamedBy } from "../../domain/tenancy/data-class-rules.ts";
import { type Policy, tightenPolicy } from "../../domain/tenancy/policy.ts";
import type { GuardedPost } from "../../io/upstream/guarded-post.ts";
import type { Clock } from "../../kit/clock.ts";
import { inTurns } from "../../kit/in-turns.ts";
import type { ContentInspection } from "./content-inspection.ts";

/** Of one request, for one detector. */
const CHARS_MAX = 1_000_000;
const CALLS_AT_ONCE = 4;
/** Requests of a workspace that wait for detectors at the same time. */
const WAITING_MAX = 64;
/** A finding of Presidio takes about 250 bytes. */
const REPLY_BYTES_MAX = 512 * 1024;

type Reading = { readonly result: DetectorResult; readonly found?: readonly Detection[]; readonly why?: string };

/** Calls the detectors that workspaces run themselves, where the policy of a request allows it. */
export class ExternalDetectors {
  readonly #post: GuardedPost;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #onRead: (result: DetectorResult, durationMs: number) => void;
  readonly #waiting = new Map<string, number>();

  constructor(
    post: GuardedPost,
    clock: Pick<Clock, "monotonicMs">,
    onRead: (result: DetectorResult, durationMs: number) => void,
  ) {
    this.#post = post;
    this.#clock = clock;
    this.#onRead = onRead;
  }

  /**
   * Lets every detector whose class a rule in force names read the request. What a detector did not read counts as not looked
   * for, so that its rules refuse the request.
   */
  async read(
    inspection: ContentInspection,
    currentPolicy: () => Policy | undefined,
    workspaceId: string,
  ): Promise<void> {
    const reads = inspection.external.map(async (external) => {
      const rule = currentPolicy()?.dataClasses?.[external.class];
      if (rule === undefined) return;
      const started = this.#clock.monotonicMs();
      const { result, found, why = "" } = await this.#readWith(external, inspection, currentPolicy, workspaceId);
      this.#onRead(result, this.#clock.monotonicMs() - started);
      const { level } = factsOf(external).sovereignty;
      inspection.detectorCalls[external.class] = { result, level, country: external.detector.country };
      if (found === undefined) inspection.addUnread(external.class, unreadFault(external, result, why));
      else inspection.addDetected(external.class, found);
    });
    await Promise.all(reads);
  }

  async #readWith(
    external: ExternalClass,
    inspection: ContentInspection,
    currentPolicy: () => Policy | undefined,
    workspaceId: string,
  ): Promise<Reading> {
    const isPermitted = () => exclusionOf(external, inspection, currentPolicy());
    const excluded = isPermitted();
    if (excluded !== undefined) return { result: "not_permitted", why: excluded };
    const { level } = factsOf(external).sovereignty;
    if (inspection.detectedChars > CHARS_MAX)
      return { result: "failed", why: `the request has more than ${CHARS_MAX} characters of text` };
    const texts = await inTurns(inspection.textsFor(currentPolicy()?.dataClasses ?? {}, level));
    if (texts === undefined) {
      const why = `a value that endpoints of level ${level} may not receive is split over parts of a message`;
      return { result: "not_permitted", why };
    }
    const waiting = this.#waiting.get(workspaceId) ?? 0;
    if (waiting >= WAITING_MAX)
      return { result: "failed", why: `${WAITING_MAX} requests of the workspace already wait for detectors` };
    this.#waiting.set(workspaceId, waiting + 1);
    try {
      return await this.#callAll(external, callsFor(texts), isPermitted);
    } finally {
      const left = (this.#waiting.get(workspaceId) ?? 1) - 1;
      if (left === 0) this.#waiting.delete(workspaceId);
      else this.#waiting.set(workspaceId, left);
    }
  }

  async #callAll(
    external: ExternalClass,
    calls: readonly DetectorCall[],
    isPermitted: () => string | undefined,
  ): Promise<Reading> {
    const deadline = AbortSignal.timeout(external.detector.timeoutMs);
    const found: Detection[] = [];
    const left = [...calls];
    let ended: Reading | undefined;
    const work = async () => {
      for (let call = left.shift(); call !== undefined && ended === undefined; call = left.shift()) {
        // The policy may have changed since the call before.
        const excluded = isPermitted();
        if (excluded !== undefined) ended = { result: "not_permitted", why: excluded };
        else {
          const outcome = await this.#call(external, call, deadline);
          if ("why" in outcome) ended ??= outcome;
          else found.push(...(outcome.found ?? []));
        }
      }
    };
    await Promise.all(Array.from({ length: CALLS_AT_ONCE }, work));
    return ended ?? { result: "read", found };
  }

  async #call(external: ExternalClass, call: DetectorCall, signal: AbortSignal): Promise<Reading> {
    const { url, token, timeoutMs } = external.detector;
    const posted = await this.#post({
      url,
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        "user-agent": "inference-gateway",
        ...(token !== null && { authorization: `Bearer ${token}` }),
      },
      body: requestBody(call, external.detector),
      signal,
      replyBytesMax: REPLY_BYTES_MAX,
    });
    if (signal.aborted) return { result: "timeout", why: `it did not respond within ${timeoutMs} ms` };
    if (posted.is !== "answered") return { result: "failed", why: posted.why };
    if (posted.body === undefined) return { result: "failed", why: `it responded with ${posted.status}` };
    const read = readReply(posted.body, call, external);
    return "problem" in read ? { result: "failed", why: read.problem } : { result: "read", found: read };
  }
}

/** The detector as an endpoint: its country decides its level, as with nodes. */
function factsOf({ class: name, detector }: ExternalClass): PolicyFacts {
  const { country, attested, zeroDataRetention, noTraining } = detector;
  const attestations = attested === null ? [] : [{ ...attested, recordedBy: "", endedAtMs: null }];
  return {
    provider: `detector/${name}`,
    sandbox: false,
    sovereignty: {
      level: nodeLevel({ country, attestations }).level,
      countries: [country],
      countriesKind: "exact",
      zeroDataRetention: zeroDataRetention ? "yes" : "unknown",
      trainsOnData: noTraining ? "no" : "unknown",
    },
  };
}

export const levelOfDetector = (detector: ExternalDetector) => factsOf({ class: "", detector }).sovereignty.level;

/** Why a detector may not receive the texts of a request; undefined: it may. */
function exclusionOf(
  external: ExternalClass,
  inspection: ContentInspection,
  policy: Policy | undefined,
): string | undefined {
  const rules = policy?.dataClasses;
  const rule = rules?.[external.class];
  if (policy === undefined || rules === undefined || rule === undefined) return "no rule in force names its class";
  const { floor, blocked } = judgeDataClasses(rules, Object.keys(inspection.counts));
  if (blocked !== undefined) return `a rule blocks the request for data of the class "${blocked}"`;
  // The texts may hold what the detector looks for: it needs the level that endpoints need for that.
  const judged = tightenPolicy(tightenPolicy(policy, { floor }), { floor: levelNamedBy(rule) });
  return excludedByPolicy(factsOf(external), judged)?.reason;
}

function unreadFault({ class: name, detector }: ExternalClass, result: DetectorResult, why: string): Fault {
  const { host } = new URL(detector.url);
  const subject = `The rule data_classes.${name} needs the external detector ${host}`;
  if (result === "not_permitted")
    return fault("data_class_not_permitted", {
      message: `${subject}, which the policy excludes: ${why}. It was not called, so the request may contain data of the class. Use a detector at a sufficient level, or change the rules.`,
    });
  return fault("data_class_detector_failed", {
    message: `${subject}, which could not read the request: ${why}. No provider received the request. Retry, or check the detector with \`gateway data-class test\`.`,
  });
}
