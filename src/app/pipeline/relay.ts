import type { IncomingHttpHeaders } from "node:http";
import { type Fault, fault } from "../../contract/faults.ts";
import {
  classifyFailure,
  classifyMalformed,
  classifyStatus,
  type FailureVerdict,
} from "../../io/upstream/classify-failure.ts";
import { ImplausibleFrameError } from "../../io/upstream/response-plausibility.ts";
import type { UpstreamBodyHandler, UpstreamCall } from "../../io/upstream/transport.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import { cancelTimer, type Timer } from "../../kit/timers.ts";
import type { ReplyStream, StreamedReply } from "../../language/canon/reply.ts";
import type { UpstreamProblem } from "../../language/canon/upstream-problem.ts";
import type { StreamFrame } from "../../language/dialects/upstream-dialect.ts";
import type { ResponseSink } from "../exchange.ts";
import type { AttemptOutcome } from "./attempt-outcome.ts";
import type { GatewayDeps } from "./gateway-deps.ts";

type StreamReading = {
  readonly headers: IncomingHttpHeaders;
  readonly call: UpstreamCall;
  readonly adapter: UpstreamAdapter;
  readonly provider: string;
  readonly resolve: (outcome: AttemptOutcome) => void;
};

/** Each is called at most once. */
type RelayEvents = {
  /** Called right before the first byte is sent. */
  readonly onCommit: () => void;
  /** Called at the first content of the model. */
  readonly onFirstContent: () => void;
};

/** Limit of the events that are held back before the first content. */
const PREAMBLE_CHARS_MAX = 1024 * 1024;
/** Three preamble events may echo the request, with every character escaped to six. */
const ECHO_FACTOR_MAX = 18;
/** Wait for the usage of a finished reply whose client has disconnected. */
const USAGE_WAIT_MS = 1000;
const COMMENT_KEEP_ALIVE = ": keep-alive\n\n";
/** The reason in the record of an attempt that was cut by the deadline. */
export const TIMEOUT_REASON = "the time of the request was up";

/**
 * Relays a provider's stream to the client. Nothing is sent before the first content, so that the request can still move to
 * another endpoint; after this commit point it can only finish or fail. A keep-alive also commits: models reason for minutes,
 * and proxies close idle connections.
 */
export class Relay {
  readonly #sink: ResponseSink;
  readonly #gateway: Pick<GatewayDeps, "limits" | "timers" | "clock" | "keepAlives">;
  readonly #events: RelayEvents;
  #committed = false;
  /** Content of the model was sent; the provider's stream has begun. */
  #hasContent = false;
  #hasBegun = false;
  /** Events before the first content. */
  #preamble: string[] = [];
  #pace: "provider" | "client" = "provider";
  /** The side that the stream currently waits for. */
  #waitingFor: "provider" | "client" = "provider";
  /** Total time spent waiting for the client. */
  #clientWaitMs = 0;
  #hasStoppedReading = false;
  #isExpired = false;
  #cancel: (() => void) | undefined;
  /** Whether the current provider bills a cancelled reply in full. */
  #billing: "until_cancelled" | "to_the_end" = "until_cancelled";
  #keepAlive: Disposable | undefined;
  #lastSentMs = 0;
  #stream: ReplyStream | undefined;
  #usageTimer: Timer | undefined;
  #dialectKeepAlive = "";

  constructor(
    sink: ResponseSink,
    gateway: Pick<GatewayDeps, "limits" | "timers" | "clock" | "keepAlives">,
    relayEvents: RelayEvents,
  ) {
    this.#sink = sink;
    this.#gateway = gateway;
    this.#events = relayEvents;
    sink.onDisconnect(() => this.cancel());
  }

  get disconnected(): boolean {
    return this.#sink.disconnected;
  }

  /** The client disconnected, or read so slowly that the deadline passed. */
  get clientStoppedReading(): boolean {
    return this.#hasStoppedReading || this.disconnected;
  }

  get committed(): boolean {
    return this.#committed;
  }

  get hasSentContent(): boolean {
    return this.#hasContent;
  }

  /** `client` once the client was slower than the provider. */
  get pace(): "provider" | "client" {
    return this.#pace;
  }

  /** Sets how the current attempt is cancelled, and what its provider bills then. */
  setCancel(cancel: () => void, billed: "until_cancelled" | "to_the_end" = "until_cancelled"): void {
    this.#cancel = cancel;
    this.#billing = billed;
    if (this.disconnected) cancel();
  }

  /** After the model's last content a cancel would only lose the usage, so it waits for that briefly. */
  cancel(): void {
    if (this.#isReadToEnd) return;
    if (this.#stream?.isFinished === true && this.#stream.usage === undefined)
      this.#usageTimer ??= this.#gateway.timers.after(USAGE_WAIT_MS, () => this.#cancel?.());
    else this.#cancel?.();
  }

  /** The provider bills the whole reply anyway, so the stream is read to its end for the usage. */
  get #isReadToEnd(): boolean {
    const isAbandoned = this.#sink.disconnected && this.#sink.unattended !== true && !this.#isExpired;
    return isAbandoned && this.#billing === "to_the_end" && this.#stream !== undefined && this.hasSentContent;
  }

  /**
   * The deadline passed. A client that was waited for at the end, or for most of the time, counts as disconnected and pays
   * for the partial output.
   */
  expire(): void {
    const isClientSlow =
      this.#waitingFor === "client" || 2 * this.#clientWaitMs > this.#gateway.limits.requestTimeoutMs;
    // Without content there is nothing to charge, and the client gets the timeout fault.
    if (isClientSlow && this.hasSentContent && this.#sink.unattended !== true) this.#hasStoppedReading = true;
    this.#isExpired = true;
    this.cancel();
  }

  stop(): void {
    cancelTimer(this.#keepAlive);
    cancelTimer(this.#usageTimer);
  }

  /** The first bytes are the commit point. False: wait for the drain. */
  sendBytes(bytes: Buffer): boolean {
    if (this.disconnected) return true;
    this.#markContent();
    if (!this.#committed) {
      this.#committed = true;
      this.#events.onCommit();
    }
    return this.#sink.write(bytes);
  }

  /** The provider failed, or the gateway itself ended the response. */
  brokenOutcome(stream: StreamedReply, verdict: FailureVerdict): AttemptOutcome {
    const { refusal } = this.#sink;
    const ended: FailureVerdict | undefined = this.#isExpired
      ? { is: "stop", why: TIMEOUT_REASON, fault: timeoutFault() }
      : refusal && { is: "stop", why: "the gateway took no more of it", fault: refusal };
    return { is: "broken", stream, verdict: ended ?? verdict, upstreamStatus: 200 };
  }

  resumeWhenDrained(then: () => void): void {
    this.#pace = "client";
    // Bytes that were read before the pause still arrive; the first waiter resumes for all of them.
    if (this.#waitingFor === "client") return;
    const { clock } = this.#gateway;
    const sinceMs = clock.monotonicMs();
    this.#waitingFor = "client";
    void this.#sink.drained().then(() => {
      this.#clientWaitMs += clock.monotonicMs() - sinceMs;
      this.#waitingFor = "provider";
      then();
    });
  }

  streamReader({ headers, call, adapter, provider, resolve }: StreamReading): UpstreamBodyHandler {
    if (!String(headers["content-type"]).includes(adapter.streamContentType)) {
      resolve({ is: "failed", verdict: classifyMalformed("not an event stream", provider), upstreamStatus: 200 });
      call.abort();
      return { onData: () => "more", onEnd() {}, onFailure() {} };
    }
    this.#dialectKeepAlive = adapter.keepAliveFrame;
    const stream = adapter.openReplyStream();
    this.#stream = stream;
    const events = adapter.openFrameReader(this.#gateway.limits.frameMaxChars);
    this.#preamble = [];
    this.#hasBegun = false;
    this.#lastSentMs = this.#gateway.clock.monotonicMs();
    this.#scheduleKeepAlive(this.#lastSentMs + this.#gateway.limits.keepAliveMs);
    let preambleChars = 0;
    const preambleMax = PREAMBLE_CHARS_MAX + ECHO_FACTOR_MAX * (adapter.echoedChars ?? 0);
    let isEnded = false;
    const finish = (outcome: AttemptOutcome) => {
      isEnded = true;
      this.#stream = undefined;
      this.stop();
      resolve(outcome);
    };
    /** Before the commit point the next endpoint is tried; after it the stream breaks. */
    const fail = (verdict: FailureVerdict) => {
      if (isEnded) return;
      if (this.clientStoppedReading) finish({ is: "disconnected", stream });
      else if (this.#committed) finish(this.brokenOutcome(stream, verdict));
      else finish({ is: "failed", verdict, upstreamStatus: 200 });
      // Last, because the abort is reported here as a failure.
      call.abort();
    };
    const take = (frames: readonly StreamFrame[]): "more" | "pause" => {
      let text = "";
      let ended = false;
      let failure: FailureVerdict | undefined;
      for (const frame of frames) {
        const piece = stream.read(frame);
        if (piece.is === "content") {
          // Output after a disconnect is not charged.
          if (!this.disconnected) this.#markContent();
          text += piece.text;
        } else if (piece.is === "preamble") {
          if (piece.text !== "") this.#hasBegun = true;
          if (this.#committed) text += piece.text;
          else {
            this.#preamble.push(piece.text);
            preambleChars += piece.text.length;
            if (preambleChars > preambleMax) failure = classifyMalformed("a preamble without an end", provider);
          }
        } else if (piece.is === "end") {
          ended = true;
          text += piece.text;
        } else if (piece.is === "problem") failure = classifyProblem(piece.problem, provider);
        else if (piece.is === "malformed") failure = classifyMalformed("a frame that is not of its dialect", provider);
        if (ended || failure !== undefined) break;
      }
      const hasRoom = text === "" ? true : this.#send(text);
      if (failure !== undefined) fail(failure);
      else if (ended) this.#finishStream(stream, provider, finish, fail);
      if (hasRoom || isEnded) return "more";
      this.resumeWhenDrained(() => call.resume());
      return "pause";
    };
    return {
      onData: (chunk) => {
        if (isEnded) {
          // Bytes after the end of the stream: the connection is closed instead of drained.
          call.abort();
          return "more";
        }
        try {
          return take(events.push(chunk));
        } catch (error) {
          fail(classifyMalformed(describeReadError(error), provider));
          return "more";
        }
      },
      onEnd: () => {
        if (isEnded) return;
        try {
          take(events.end());
        } catch (error) {
          fail(classifyMalformed(describeReadError(error), provider));
        }
        if (isEnded) return;
        // Some servers omit the end marker: the model's stop reason is enough.
        if (stream.isFinished) this.#finishStream(stream, provider, finish, fail);
        else fail(classifyMalformed("the stream ended without its end marker", provider));
      },
      onFailure: (failure) => fail(classifyFailure(failure, provider)),
    };
  }

  #finishStream(
    stream: ReplyStream,
    provider: string,
    finish: (outcome: AttemptOutcome) => void,
    fail: (verdict: FailureVerdict) => void,
  ): void {
    if (!this.hasSentContent && !stream.isFinished && stream.outputWeight === 0) {
      fail(classifyMalformed("an empty stream", provider));
      return;
    }
    // An empty reply has its first byte at its end.
    if (!this.hasSentContent) this.#events.onFirstContent();
    if (!this.#committed) this.#send("");
    finish(this.#committed ? { is: "relayed", stream, upstreamStatus: 200 } : { is: "disconnected", stream });
  }

  #send(text: string): boolean {
    if (!this.#committed) {
      // Output after a disconnect is not charged.
      if (this.disconnected) return true;
      this.#committed = true;
      this.#events.onCommit();
    }
    const all = this.#preamble.length === 0 ? text : `${this.#preamble.splice(0).join("")}${text}`;
    this.#lastSentMs = this.#gateway.clock.monotonicMs();
    return all === "" ? true : this.#sink.write(all);
  }

  #markContent(): void {
    if (this.#hasContent) return;
    this.#hasContent = true;
    this.#hasBegun = true;
    this.#events.onFirstContent();
  }

  /** The dialect's keep-alive event is valid only after its first event; before that an SSE comment is sent. */
  #keepAliveText(): string {
    return this.#hasBegun || this.#dialectKeepAlive === "" ? this.#dialectKeepAlive : COMMENT_KEEP_ALIVE;
  }

  /** One timer per period: restarting a timer with every frame would cost more than the frame. */
  #scheduleKeepAlive(atMs: number): void {
    const { keepAlives, clock, limits } = this.#gateway;
    this.#keepAlive = keepAlives.at(atMs, () => {
      const nowMs = clock.monotonicMs();
      if (nowMs - this.#lastSentMs < limits.keepAliveMs)
        return this.#scheduleKeepAlive(this.#lastSentMs + limits.keepAliveMs);
      // An unattended request stays uncommitted, so that it can still move to another endpoint.
      if (this.#committed || this.#sink.unattended !== true) this.#send(this.#keepAliveText());
      this.#scheduleKeepAlive(nowMs + limits.keepAliveMs);
    });
  }
}

const describeReadError = (error: unknown) =>
  error instanceof ImplausibleFrameError ? error.message : "an event over the size limit";

function timeoutFault(): Fault {
  return fault("upstream_timeout", {
    message:
      "The answer took longer than this gateway allows for a request. What was sent so far is incomplete and is not charged. Ask for less at once.",
  });
}

/** Classifies an error event like an HTTP status. */
export function classifyProblem(problem: UpstreamProblem, provider: string): FailureVerdict {
  return classifyStatus(problem.status !== null && problem.status >= 400 ? problem.status : 502, {}, problem, provider);
}
