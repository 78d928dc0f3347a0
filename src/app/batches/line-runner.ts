import { FAULTS, type Fault, type FaultCode, fault } from "../../contract/faults.ts";
import type { BatchHead, BatchOrigin, LineOutcome, PauseReason } from "../../domain/batches/batch.ts";
import type { RequestRecord } from "../../domain/record/record.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import type { JournalEntry } from "../../io/journal/journal.ts";
import { type Exchange, type ResponseSink, rejectUpload } from "../exchange.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import { run } from "../pipeline/run.ts";
import { toFault } from "../to-fault.ts";
import type { BatchLine } from "./batch-lines.ts";
import type { BatchesDeps, LineEndpoint } from "./batches-context.ts";
import type { OutcomeWriter } from "./outcome-writer.ts";
import { faultLine, successLine } from "./result-lines.ts";

/** A line that is due, with the number of failed runs before. */
export type DueLine = {
  readonly head: BatchHead;
  readonly origin: BatchOrigin;
  readonly endpoint: LineEndpoint;
  readonly principal: Principal;
  readonly part: number;
  readonly line: number;
  readonly request: BatchLine;
  readonly failures: number;
};

export type LineResult =
  | { readonly is: "done" }
  /** The request is fine, and is run again later. */
  | { readonly is: "retry"; readonly afterMs: number }
  | { readonly is: "unfunded"; readonly reason: PauseReason }
  /** Its outcome is stored, but its charge may not be in the journal. */
  | { readonly is: "unsettled" };

type ActiveLine = DueLine & {
  readonly requestId: string;
  body: string | undefined;
  isStored: boolean;
  isJournaled: boolean;
};

export const NO_USAGE: LineOutcome["usage"] = {
  costNanos: 0n,
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  reasoningTokens: 0,
};

/**
 * Runs lines as ordinary requests. The outcome of a served line is stored before its charge is journaled, together with the
 * record that is charged: only the run whose outcome was stored first is charged, and after a crash the charge is journaled
 * from that record instead of running the line again.
 */
export class LineRunner {
  readonly #deps: Pick<BatchesDeps, "gateway" | "clock" | "ids">;
  readonly #writer: OutcomeWriter;
  readonly #gateway: GatewayDeps;
  readonly #active = new Map<string, ActiveLine>();

  constructor(deps: Pick<BatchesDeps, "gateway" | "clock" | "ids">, writer: OutcomeWriter) {
    this.#deps = deps;
    this.#writer = writer;
    const { journal } = deps.gateway;
    this.#gateway = {
      ...deps.gateway,
      journal: {
        append: (entry) => this.#append(entry),
        get isBroken() {
          return journal.isBroken;
        },
        get isBehind() {
          return journal.isBehind;
        },
        close: () => journal.close(),
      },
    };
  }

  /** Never rejects. */
  async run(due: DueLine): Promise<LineResult> {
    const { clock, ids } = this.#deps;
    const { endpoint, principal, request } = due;
    const requestId = ids.next(endpoint.idPrefix);
    const active: ActiveLine = { ...due, requestId, body: undefined, isStored: false, isJournaled: false };
    this.#active.set(requestId, active);
    const exchange: Exchange = {
      requestId,
      route: endpoint.route,
      params: {},
      query: new URLSearchParams(),
      headers: { ...due.origin.headers, "x-client-request-id": request.customId },
      clientAddress: due.origin.clientAddress,
      receivedAtMs: clock.nowMs(),
      startedMs: clock.monotonicMs(),
      principal,
      baseHeaders: {},
      body: async () => Buffer.from(request.body),
      upload: rejectUpload,
    };
    const sink = new LineSink();
    try {
      await run(this.#gateway, endpoint.surface, exchange, sink, async (bytes) => ({
        ...(await endpoint.decode(bytes, exchange)),
        async beforeSettle(final) {
          active.body = final;
        },
      }));
      return active.isStored ? { is: "done" } : await this.#servedFree(active, sink.body);
    } catch (error) {
      return await this.#failed(active, toFault(error));
    } finally {
      this.#active.delete(requestId);
    }
  }

  /** A response that needed no provider, such as one of the response cache. */
  async #servedFree(active: ActiveLine, body: string | undefined): Promise<LineResult> {
    if (body === undefined) return { is: "retry", afterMs: RETRY_BASE_MS };
    const text = successLine(refOf(active), body);
    await this.#save(active, { end: "succeeded", text, record: null, usage: NO_USAGE });
    return { is: "done" };
  }

  async #failed(active: ActiveLine, problem: Fault): Promise<LineResult> {
    if (active.isStored) return active.isJournaled ? { is: "done" } : { is: "unsettled" };
    const again = retryFor(problem, active.failures);
    if (again !== undefined) return again;
    try {
      await this.#save(active, {
        end: "errored",
        text: faultLine(refOf(active), problem),
        record: null,
        usage: NO_USAGE,
      });
      return { is: "done" };
    } catch {
      return { is: "retry", afterMs: STORE_RETRY_MS };
    }
  }

  async #append(entry: JournalEntry): Promise<void> {
    const { journal } = this.#deps.gateway;
    const active = entry.t === "done" ? this.#active.get(entry.record.id) : undefined;
    if (active === undefined || entry.t !== "done") return journal.append(entry);
    const record = withBatch(entry.record, active);
    if (record.usage === null) {
      // A run that is repeated is no request of its own.
      const code = record.errorCode as FaultCode | null;
      const isRepeated = code !== null && retryFor({ code, status: record.status }, active.failures) !== undefined;
      return isRepeated ? undefined : journal.append({ t: "done", record });
    }
    const isFirst = await this.#save(active, {
      ...servedOutcome(active, record),
      record: JSON.stringify(record),
      usage: usageOf(record),
    });
    if (!isFirst)
      throw fault("service_unavailable", {
        message: "Another instance has stored the outcome of this request, so this run is not charged.",
      });
    active.isStored = true;
    await journal.append({ t: "done", record });
    active.isJournaled = true;
  }

  #save(
    { head, part, line }: ActiveLine,
    outcome: Pick<LineOutcome, "end" | "text" | "record" | "usage">,
  ): Promise<boolean> {
    return this.#writer.save({ batchId: head.id, workspaceId: head.workspaceId, part, line, ...outcome });
  }
}

const refOf = ({ head, request, requestId }: ActiveLine) => ({
  shape: head.shape,
  customId: request.customId,
  id: requestId,
});

function servedOutcome(active: ActiveLine, { errorCode }: RequestRecord): Pick<LineOutcome, "end" | "text"> {
  if (active.body !== undefined) return { end: "succeeded", text: successLine(refOf(active), active.body) };
  // The provider declined the request, which costs its input.
  const code = (errorCode ?? "upstream_error") as FaultCode;
  return { end: "errored", text: faultLine(refOf(active), fault(code, { message: FAULTS[code].says })) };
}

function usageOf({ usage, charge }: RequestRecord): LineOutcome["usage"] {
  return {
    costNanos: BigInt(charge?.nanos ?? "0"),
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    cachedTokens: usage?.cachedTokens ?? 0,
    reasoningTokens: usage?.reasoningTokens ?? 0,
  };
}

function withBatch(record: RequestRecord, { head, line }: ActiveLine): RequestRecord {
  return { ...record, detail: { ...record.detail, batch: head.id, line: line + 1 } };
}

const STORE_RETRY_MS = 2_000;
const RETRY_BASE_MS = 1_000;
const RETRY_MAX_MS = 60_000;
/** Runs of a line that fails for a reason that may pass. */
const RUNS_MAX: Partial<Record<FaultCode, number>> = {
  rate_limit_exceeded: 20,
  upstream_error: 4,
  upstream_timeout: 3,
  upstream_invalid_answer: 2,
  internal_error: 3,
  // The gateway itself: nothing is wrong with the line.
  service_unavailable: Number.POSITIVE_INFINITY,
};

/** Undefined: the failure is the line's outcome. */
function retryFor({ code }: { readonly code: FaultCode; readonly status: number }, failures: number) {
  if (code === "insufficient_credits" || code === "spend_limit_reached")
    return { is: "unfunded", reason: code } as const satisfies LineResult;
  if (failures + 1 >= (RUNS_MAX[code] ?? 1)) return undefined;
  const afterMs = Math.min(RETRY_MAX_MS, RETRY_BASE_MS * 2 ** failures);
  return { is: "retry", afterMs } as const satisfies LineResult;
}

/** No client waits for the response; its body becomes the outcome, unless that was stored with its charge. */
class LineSink implements ResponseSink {
  readonly disconnected = false;
  readonly unattended = true;
  started = false;
  body: string | undefined;

  start(): void {
    this.started = true;
  }

  write(): boolean {
    return true;
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  end(chunk?: Buffer | string): void {
    this.body = chunk?.toString();
  }

  abort(): void {}

  onDisconnect(): void {}
}
