import { envelopeOf } from "../../../contract/error-envelope.ts";
import type { Fault } from "../../../contract/faults.ts";
import type { CachedReply } from "../../../domain/response-cache/cached-reply.ts";
import type { Attempt } from "../../../domain/routing/reachable-endpoint.ts";
import { formatNanos } from "../../../kit/money.ts";
import { NOTHING_OMITTED } from "../../../language/canon/omitted-paths.ts";
import type { ReportedCost, StreamedReply, WholeReply } from "../../../language/canon/reply.ts";
import { type AttemptRun, replyHeadFor, runAttempt } from "../attempt.ts";
import type { EndpointAdapter } from "../inference-request.ts";
import { recordUncharged } from "../record.ts";
import { addInferenceHeaders, Relay, toHeaderText } from "../relay.ts";
import { traceReply } from "../settle.ts";
import { CLIENT_DISCONNECTED } from "../settled-end.ts";
import type { CacheableRequest } from "./cacheable-request.ts";
import { ReplayTransport } from "./replay-transport.ts";

type Ending = { readonly status: number; readonly errorCode: string | null };
const COMPLETE: Ending = { status: 200, errorCode: null };

/**
 * Serves a request by what an endpoint replied to an identical one: it is decoded again like a reply that arrives now, so
 * that id, time, cost, format and rules of data classes are those of this request. "missed": the endpoint may not serve it by
 * today's facts, or would receive something else; then nothing was sent.
 */
export async function serveCached(
  request: CacheableRequest,
  reply: CachedReply,
  ageMs: number,
): Promise<"served" | "missed"> {
  const { gateway, trace, exchange, decoded, plan } = request;
  const attempt = plan.attempts.find(({ endpoint }) => endpoint.id === reply.endpoint);
  if (attempt === undefined) return "missed";
  const serving = new CachedServing(request, attempt, reply, ageMs);
  let chosen: EndpointAdapter;
  try {
    const head = replyHeadFor(exchange, trace, decoded.request, attempt);
    chosen = decoded.request.adapterFor(attempt, plan, head, gateway.responses.text);
  } catch {
    return "missed";
  }
  return serving.run(chosen);
}

class CachedServing {
  readonly #request: CacheableRequest;
  readonly #attempt: Attempt;
  readonly #reply: CachedReply;
  readonly #ageMs: number;

  constructor(request: CacheableRequest, attempt: Attempt, reply: CachedReply, ageMs: number) {
    this.#request = request;
    this.#attempt = attempt;
    this.#reply = reply;
    this.#ageMs = ageMs;
  }

  async run(chosen: EndpointAdapter): Promise<"served" | "missed"> {
    const { gateway, trace, exchange, sink, plan, currentPolicy, changedRouter, inspected } = this.#request;
    const { adapter } = chosen;
    const omittedBefore = trace.omitted;
    const detailBefore = trace.detail;
    trace.omitted = adapter.omitted ?? NOTHING_OMITTED;
    const replaying = { ...gateway, transport: new ReplayTransport(this.#reply.exchanges), onNotice: () => undefined };
    const relay = new Relay(sink, replaying, {
      onCommit: () => {
        const type = adapter.streamResponseType ?? "text/event-stream; charset=utf-8";
        sink.start(200, { ...this.#headers(chosen), "content-type": type, "cache-control": "no-cache" });
      },
      onFirstContent: () => trace.markFirstByte(),
    });
    const run: AttemptRun = {
      gateway: replaying,
      trace,
      attempt: this.#attempt,
      adapter,
      relay,
      plan,
      currentPolicy,
      changedRouter,
      inspected,
      recheckKey: () => gateway.recheckKey(exchange),
    };
    try {
      const { outcome } = await runAttempt(run);
      if (outcome.is === "complete" && outcome.reply.declined === undefined && outcome.reply.withheld === undefined)
        await this.#sendWhole(outcome.reply, chosen);
      else if (outcome.is === "relayed") await this.#endStream(outcome.stream);
      else if (outcome.is === "withheld") await this.#breakStream(outcome.stream, outcome.fault);
      else if (outcome.is === "disconnected") await this.#record(CLIENT_DISCONNECTED);
      else if (outcome.is === "broken") {
        await this.#record(CLIENT_DISCONNECTED);
        sink.abort();
      } else {
        // As before: the request runs.
        trace.servingAttempt = undefined;
        trace.omitted = omittedBefore;
        trace.detail = detailBefore;
        trace.dataAction = undefined;
        return "missed";
      }
      return "served";
    } finally {
      relay.stop();
    }
  }

  async #sendWhole(reply: WholeReply, chosen: EndpointAdapter): Promise<void> {
    const { sink, trace } = this.#request;
    traceReply(trace, reply);
    if (sink.disconnected) return this.#record(CLIENT_DISCONNECTED);
    trace.markFirstByte();
    const { usage } = this.#reply;
    const body = (await reply.renderInSlices?.(usage, this.#cost)) ?? reply.render(usage, this.#cost);
    await this.#record(COMPLETE);
    sink.start(200, {
      ...this.#headers(chosen),
      "content-type": reply.contentType ?? "application/json",
      "content-length": String(Buffer.byteLength(body)),
    });
    sink.end(body);
  }

  async #endStream(stream: StreamedReply): Promise<void> {
    const { sink, trace } = this.#request;
    traceReply(trace, stream);
    const lastFrames = stream.close(this.#reply.usage, this.#cost);
    if (stream.withheld !== undefined) {
      sink.write(lastFrames);
      return this.#breakStream(stream, stream.withheld);
    }
    await this.#record(sink.disconnected ? CLIENT_DISCONNECTED : COMPLETE);
    sink.end(lastFrames);
  }

  /** Rules that came into force since let no more of it pass. */
  async #breakStream(stream: StreamedReply, problem: Fault): Promise<void> {
    const { sink, trace } = this.#request;
    await this.#record({ status: 200, errorCode: problem.code });
    const dialect = trace.surface === "messages" ? trace.surface : undefined;
    const lastFrames = stream.fail(envelopeOf(problem, trace.requestId, dialect));
    if (lastFrames === undefined) sink.abort();
    else sink.end(lastFrames);
  }

  get #cost(): ReportedCost {
    return { cost: 0, currency: this.#request.trace.principal.workspace.currency };
  }

  #headers({ adapter, reasoning }: EndpointAdapter): Record<string, string> {
    const { trace, exchange, plan } = this.#request;
    this.#setOrigin();
    addInferenceHeaders(exchange.baseHeaders, trace, plan, adapter, reasoning);
    const { provider, region } = this.#attempt.endpoint;
    const reason = `${provider} ${region} (${this.#reply.level}): reply of ${this.#reply.requestId} from the response cache`;
    return { ...exchange.baseHeaders, "x-svc-route-reason": toHeaderText(reason) };
  }

  /** Header and log tell who computed the reply, by the facts of that time. */
  #setOrigin(): void {
    const { endpoint } = this.#attempt;
    const { level, countries } = this.#reply;
    const countriesKind = countries.length === 0 ? ("unknown" as const) : endpoint.sovereignty.countriesKind;
    const sovereignty = { ...endpoint.sovereignty, level, countries, countriesKind };
    const { ownKey: _, ...attempt } = this.#attempt;
    this.#request.trace.servingAttempt = { ...attempt, endpoint: { ...endpoint, sovereignty } };
  }

  /** The record has no usage: tokens are counted where they were computed. */
  async #record({ status, errorCode }: Ending): Promise<void> {
    const { gateway, trace } = this.#request;
    const { cost, usage, requestId, createdAtMs } = this.#reply;
    this.#setOrigin();
    trace.detail = {
      ...trace.detail,
      cache: {
        status: "hit",
        computed_by: requestId,
        computed_at: new Date(createdAtMs).toISOString(),
        age_seconds: Math.floor(this.#ageMs / 1000),
        saved: formatNanos(BigInt(cost?.nanos ?? "0")),
        currency: cost?.currency ?? trace.principal.workspace.currency,
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
      },
    };
    await recordUncharged(gateway, trace.finishedRecord({ status, errorCode, usage: null, charge: null }));
  }
}
