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
  readonly lane: UpstreamAdapter;
  readonly provider: string;
  readonly resolve: (outcome: AttemptOutcome) => void;
};

/** Each is called once. `commit` right before the first byte: it writes the head and the open record. */
type RelayEvents = {
  readonly onCommit: () => void;
  /** The model's first word is there. */
  readonly onFirstContent: () => void;
};

/** Far more than any provider says before its model speaks: what is kept back meanwhile has an end. */
const PREAMBLE_CHARS_MAX = 1024 * 1024;
/** Beside what was asked: three events may repeat it, with every letter written as six. */
const ECHO_FACTOR_MAX = 18;
/** How long the figures of an answer are waited for that was whole but for them when its client left. */
const USAGE_WAIT_MS = 1000;
const COMMENT_KEEP_ALIVE = ": keep-alive\n\n";
/** Why an attempt ended that nobody is to blame for. */
export const TIMEOUT_REASON = "the time of the request was up";

/**
 * Carries a provider's stream to the client. Until the model has said something nothing is sent, so that the request
 * can still move to another endpoint; from then on it can only finish or end with an error. A client that would wait for
 * too long is told that the answer has begun, and is bound to its endpoint by that: models think for minutes, and whatever
 * stands in between gives up a connection on which nothing is heard.
 */
export class Relay {
  readonly #sink: ResponseSink;
  readonly #gateway: Pick<GatewayDeps, "limits" | "timers" | "clock" | "signsOfLife">;
  readonly #events: RelayEvents;
  #committed = false;
  /** Whether anything that the model said was sent, and anything that its provider did. */
  #spoke: "no" | "yes" = "no";
  #begun: "no" | "yes" = "no";
  /** What the provider said before its model spoke. */
  #preamble: string[] = [];
  #pace: "provider" | "client" = "provider";
  /** Who is waited for now: a provider, or a client that has to take what it was sent. */
  #waitingFor: "provider" | "client" = "provider";
  /** How long the client was waited for before. */
  #clientWaitMs = 0;
  #left: "no" | "yes" = "no";
  #time: "left" | "up" = "left";
  #cancel: (() => void) | undefined;
  /** What hanging up on the provider that is asked now would spare: the rest of its answer, or nothing. */
  #billing: "until_cancelled" | "to_the_end" = "until_cancelled";
  #keepAlive: Disposable | undefined;
  /** When the client was last sent something. */
  #lastSentMs = 0;
  #stream: ReplyStream | undefined;
  #usageTimer: Timer | undefined;
  #dialectKeepAlive = "";

  constructor(
    sink: ResponseSink,
    gateway: Pick<GatewayDeps, "limits" | "timers" | "clock" | "signsOfLife">,
    told: RelayEvents,
  ) {
    this.#sink = sink;
    this.#gateway = gateway;
    this.#events = told;
    sink.onDisconnect(() => this.cancel());
  }

  get disconnected(): boolean {
    return this.#sink.disconnected;
  }

  /** Nobody takes the rest: the client is gone, or it took what it was sent so slowly that its time is up. */
  get clientStoppedReading(): boolean {
    return this.#left === "yes" || this.disconnected;
  }

  get committed(): boolean {
    return this.#committed;
  }

  get hasSentContent(): boolean {
    return this.#spoke === "yes";
  }

  /** Who the stream waited for: its client, if it was ever slower than the provider. */
  get pace(): "provider" | "client" {
    return this.#pace;
  }

  /** What stops the attempt that is running now, and how far its provider bills it then. */
  setCancel(cancel: () => void, billed: "until_cancelled" | "to_the_end" = "until_cancelled"): void {
    this.#cancel = cancel;
    this.#billing = billed;
    if (this.disconnected) cancel();
  }

  /** A model that has said its last word cannot be stopped any more; only the figures that it is billed by would be lost. */
  cancel(): void {
    if (this.#isReadToEnd) return;
    if (this.#stream?.isFinished === true && this.#stream.usage === undefined)
      this.#usageTimer ??= this.#gateway.timers.after(USAGE_WAIT_MS, () => this.#cancel?.());
    else this.#cancel?.();
  }

  /** A client left in the middle of an answer whose provider bills all of it: it is heard to its end, within its time. */
  get #isReadToEnd(): boolean {
    const isLeft = this.#sink.disconnected && this.#sink.unattended !== true && this.#time === "left";
    return isLeft && this.#billing === "to_the_end" && this.#stream !== undefined && this.hasSentContent;
  }

  /**
   * The time of the request is up. A client that keeps everybody waiting, or did so for most of the time and took
   * something right before its end, has left: else it would not pay.
   */
  expire(): void {
    const isSlow = this.#waitingFor === "client" || 2 * this.#clientWaitMs > this.#gateway.limits.requestTimeoutMs;
    // Who was sent nothing of the model's has nothing to pay for, and is told that the time is up.
    if (isSlow && this.hasSentContent && this.#sink.unattended !== true) this.#left = "yes";
    this.#time = "up";
    this.cancel();
  }

  stop(): void {
    cancelTimer(this.#keepAlive);
    cancelTimer(this.#usageTimer);
  }

  /** Bytes for the client; the first of them bind the request to its endpoint. False: wait until there is room. */
  sendBytes(bytes: Buffer): boolean {
    if (this.disconnected) return true;
    this.#markContent();
    if (!this.#committed) {
      this.#committed = true;
      this.#events.onCommit();
    }
    return this.#sink.write(bytes);
  }

  /** How an answer broke that was being sent: by its provider, or because the gateway ended it. */
  brokenOutcome(stream: StreamedReply, verdict: FailureVerdict): AttemptOutcome {
    const { refusal } = this.#sink;
    const ended: FailureVerdict | undefined =
      this.#time === "up"
        ? { is: "stop", why: TIMEOUT_REASON, fault: timeoutFault() }
        : refusal && { is: "stop", why: "the gateway took no more of it", fault: refusal };
    return { is: "broke", stream, verdict: ended ?? verdict, upstreamStatus: 200 };
  }

  /** The client is slower than the provider. */
  resumeWhenDrained(then: () => void): void {
    this.#pace = "client";
    // What was read already when the provider was held back still comes: whoever waits first goes on for all of it.
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

  streamReader({ headers, call, lane, provider, resolve }: StreamReading): UpstreamBodyHandler {
    if (!String(headers["content-type"]).includes(lane.streamContentType)) {
      resolve({ is: "failed", verdict: classifyMalformed("not an event stream", provider), upstreamStatus: 200 });
      call.abort();
      return { onData: () => "more", onEnd() {}, onFailure() {} };
    }
    this.#dialectKeepAlive = lane.keepAliveFrame;
    const stream = lane.openReplyStream();
    this.#stream = stream;
    const events = lane.openFrameReader(this.#gateway.limits.frameMaxChars);
    this.#preamble = [];
    this.#begun = "no";
    this.#lastSentMs = this.#gateway.clock.monotonicMs();
    this.#scheduleKeepAlive(this.#lastSentMs + this.#gateway.limits.keepAliveMs);
    let preambleChars = 0;
    const preambleMax = PREAMBLE_CHARS_MAX + ECHO_FACTOR_MAX * (lane.echoedChars ?? 0);
    let over = false;
    const finish = (outcome: AttemptOutcome) => {
      over = true;
      this.#stream = undefined;
      this.stop();
      resolve(outcome);
    };
    /** Before the commit point the next endpoint may be tried; after it the stream can only break. */
    const fail = (verdict: FailureVerdict) => {
      if (over) return;
      if (this.clientStoppedReading) finish({ is: "gone", stream });
      else if (this.#committed) finish(this.brokenOutcome(stream, verdict));
      else finish({ is: "failed", verdict, upstreamStatus: 200 });
      // Last, because an abort is heard here as a failure of its own.
      call.abort();
    };
    const take = (frames: readonly StreamFrame[]): "more" | "pause" => {
      let text = "";
      let ended = false;
      let failure: FailureVerdict | undefined;
      for (const frame of frames) {
        const piece = stream.read(frame);
        if (piece.is === "content") {
          // What comes after the caller has left is nobody's output.
          if (!this.disconnected) this.#markContent();
          text += piece.text;
        } else if (piece.is === "preamble") {
          if (piece.text !== "") this.#begun = "yes";
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
      const room = text === "" ? true : this.#send(text);
      if (failure !== undefined) fail(failure);
      else if (ended) this.#finishStream(stream, provider, finish, fail);
      if (room || over) return "more";
      this.resumeWhenDrained(() => call.resume());
      return "pause";
    };
    return {
      onData: (chunk) => {
        if (over) {
          // Who talks on after the end is not listened to: the connection is given up, not read to nobody's use.
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
        if (over) return;
        try {
          take(events.end());
        } catch (error) {
          fail(classifyMalformed(describeReadError(error), provider));
        }
        if (over) return;
        // Some servers forget their end marker: the model's own stop is as good.
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
    // An answer without a word is heard when it ends.
    if (!this.hasSentContent) this.#events.onFirstContent();
    if (!this.#committed) this.#send("");
    finish(this.#committed ? { is: "relayed", stream, upstreamStatus: 200 } : { is: "gone", stream });
  }

  #send(text: string): boolean {
    if (!this.#committed) {
      // What comes after the caller has left is nobody's output.
      if (this.disconnected) return true;
      this.#committed = true;
      this.#events.onCommit();
    }
    const all = this.#preamble.length === 0 ? text : `${this.#preamble.splice(0).join("")}${text}`;
    this.#lastSentMs = this.#gateway.clock.monotonicMs();
    return all === "" ? true : this.#sink.write(all);
  }

  #markContent(): void {
    if (this.#spoke === "yes") return;
    this.#spoke = "yes";
    this.#begun = "yes";
    this.#events.onFirstContent();
  }

  /** The dialect's own comes after its beginning; before that there are comments, which are part of no dialect. */
  #keepAliveText(): string {
    return this.#begun === "yes" || this.#dialectKeepAlive === "" ? this.#dialectKeepAlive : COMMENT_KEEP_ALIVE;
  }

  /** One look a period: a wait that is begun anew with every frame would cost more than the frame. */
  #scheduleKeepAlive(atMs: number): void {
    const { keepAlives, clock, limits } = this.#gateway;
    this.#keepAlive = keepAlives.at(atMs, () => {
      const nowMs = clock.monotonicMs();
      if (nowMs - this.#lastSentMs < limits.keepAliveMs)
        return this.#scheduleKeepAlive(this.#lastSentMs + limits.keepAliveMs);
      // Where nobody waits, the request stays free to move on.
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

/** An error inside a stream is judged as if it had come as a status. */
export function classifyProblem(problem: UpstreamProblem, provider: string): FailureVerdict {
  return classifyStatus(problem.status !== null && problem.status >= 400 ? problem.status : 502, {}, problem, provider);
}
