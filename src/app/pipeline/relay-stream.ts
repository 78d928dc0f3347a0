import type { IncomingHttpHeaders } from "node:http";
import { type Fault, fault } from "../../contract/faults.ts";
import { classifyFailure, classifyMalformed, type FailureVerdict } from "../../io/upstream/classify-failure.ts";
import { classifyRejection, classifyShape } from "../../io/upstream/rejected-response.ts";
import { ImplausibleFrameError } from "../../io/upstream/response-plausibility.ts";
import type { UpstreamBodyHandler, UpstreamCall } from "../../io/upstream/transport.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import { inParentheses, OversizedTextError } from "../../kit/json-size.ts";
import { chain } from "../../kit/maybe-promise.ts";
import { OversizedEventError } from "../../kit/sse.ts";
import type { AudioPiece, AudioStream, ReplyStream, StreamedReply, StreamPiece } from "../../language/canon/reply.ts";
import type { StreamFrame } from "../../language/dialects/upstream-dialect.ts";
import type { AttemptOutcome } from "./attempt-outcome.ts";
import { classifyProblem, IGNORE } from "./error-response.ts";
import { isShort, isShortFrame, LongFrames, type LongFramesDeps } from "./long-frames.ts";
import { type Relay, TIMEOUT_REASON } from "./relay.ts";

type StreamReading = {
  readonly headers: IncomingHttpHeaders;
  readonly call: UpstreamCall;
  readonly adapter: UpstreamAdapter;
  readonly provider: string;
  readonly workspaceId: string;
  readonly resolve: (outcome: AttemptOutcome) => void;
};

/** Three preamble events may echo the request, with every character escaped to six. */
const ECHO_FACTOR_MAX = 18;
/** Settings of the limits, by the unit of an event. */
const EVENT_SETTINGS = { characters: "GATEWAY_ANSWER_MAX_EVENT", bytes: "GATEWAY_ANSWER_MAX_BINARY_EVENT" } as const;
const BEFORE_CONTENT = "characters before its first content (GATEWAY_ANSWER_MAX_PREAMBLE)";
const COMMENT_KEEP_ALIVE = ": keep-alive\n\n";

/** Relays the event stream of one attempt. */
export function streamReader(relay: Relay, reading: StreamReading): UpstreamBodyHandler {
  const { headers, call, adapter, provider, resolve } = reading;
  if (String(headers["content-type"]).includes(adapter.streamContentType))
    return new StreamRelay(relay, adapter).reader(reading);
  resolve({ is: "failed", verdict: classifyMalformed("not an event stream", provider), upstreamStatus: 200 });
  call.abort();
  return IGNORE;
}

/**
 * Relays a provider's stream to the client. Nothing is sent before the first content, so that the request can still move to
 * another endpoint; after this commit point it can only finish or fail. A keep-alive also commits: models reason for minutes,
 * and proxies close idle connections.
 */
class StreamRelay {
  readonly #relay: Relay;
  readonly #stream: ReplyStream;
  readonly #dialectKeepAlive: string;
  /** The provider's stream has begun. */
  #hasBegun = false;
  /** Events before the first content. */
  readonly #preamble: string[] = [];
  #lastSentMs: number;

  constructor(relay: Relay, adapter: UpstreamAdapter) {
    const { clock, limits } = relay.gateway;
    this.#relay = relay;
    this.#dialectKeepAlive = adapter.keepAliveFrame;
    this.#stream = adapter.openReplyStream();
    relay.stream = this.#stream;
    this.#lastSentMs = clock.monotonicMs();
    this.#scheduleKeepAlive(this.#lastSentMs + limits.keepAliveMs);
  }

  reader(reading: StreamReading): UpstreamBodyHandler {
    const { call, adapter, provider, resolve } = reading;
    const relay = this.#relay;
    const stream = this.#stream;
    const events = adapter.openFrameReader(relay.gateway.limits);
    let preambleChars = 0;
    const preambleMax = relay.gateway.limits.preambleMaxChars + ECHO_FACTOR_MAX * (adapter.echoedChars ?? 0);
    const check = adapter.openFrameCheck?.();
    let isEnded = false;
    let long: LongFrames | undefined;
    const finish = (outcome: AttemptOutcome) => {
      isEnded = true;
      long?.stop();
      relay.stream = undefined;
      relay.stop();
      resolve(outcome);
      if (outcome.is === "withheld") call.abort();
    };
    /** Before the commit point the next endpoint is tried; after it the stream breaks. */
    const fail = (verdict: FailureVerdict) => {
      if (isEnded) return;
      if (relay.clientStoppedReading) finish({ is: "disconnected", stream });
      else if (relay.committed) finish(brokenOutcome(relay, stream, verdict));
      else finish({ is: "failed", verdict, upstreamStatus: 200 });
      // Last, because the abort is reported here as a failure.
      call.abort();
    };
    const checked = (frame: StreamFrame) => (check === undefined ? frame : check(frame));
    /** `ready` has been read from the only frame. */
    const take = (frames: readonly StreamFrame[], ready?: StreamPiece): "more" | "pause" => {
      let text = "";
      let ended = false;
      let failure: FailureVerdict | undefined;
      for (const frame of frames) {
        const piece = ready ?? stream.read(checked(frame));
        if (piece.is === "content") {
          // Output after a disconnect is not charged.
          if (!relay.disconnected && relay.markContent()) this.#hasBegun = true;
          text += piece.text;
        } else if (piece.is === "preamble") {
          if (piece.text !== "") this.#hasBegun = true;
          if (relay.committed) text += piece.text;
          else {
            this.#preamble.push(piece.text);
            preambleChars += piece.text.length;
            if (preambleChars > preambleMax)
              failure = classifyShape(`more than ${preambleMax} ${BEFORE_CONTENT}`, provider);
          }
        } else if (piece.is === "end") {
          ended = true;
          text += piece.text;
        } else if (piece.is === "problem") failure = classifyProblem(piece.problem, provider);
        else if (piece.is === "malformed") failure = classifyMalformed("a frame is not valid in its dialect", provider);
        if (ended || failure !== undefined || stream.withheld !== undefined) break;
      }
      const hasRoom = text === "" ? true : this.#send(text);
      if (stream.withheld !== undefined) finish(this.#withheld(stream.withheld));
      else if (failure !== undefined) fail(failure);
      else if (ended) this.#finishStream(provider, finish, fail);
      return hasRoom || isEnded ? "more" : "pause";
    };
    const failReading = (error: unknown) => fail(classifyUnread(error, provider));
    const openLong = () =>
      openLongFrames(relay, reading, {
        read: (frame, work) =>
          chain(isShortFrame(frame) ? undefined : stream.readInSlices?.(checked(frame), work), (piece) =>
            isEnded ? "more" : take([frame], piece),
          ),
        onRejected: (rejection) => fail(classifyRejection(rejection, provider)),
        onError: failReading,
      });
    const endStream = () => {
      if (!isEnded) this.#endStream(provider, finish, fail);
    };
    return {
      onData: (chunk) => {
        if (isEnded) {
          // Bytes after the end of the stream: the connection is closed instead of drained.
          call.abort();
          return "more";
        }
        try {
          const frames = events.push(chunk);
          const { pendingChars } = events;
          if (long === undefined && isShort(pendingChars) && frames.every(isShortFrame))
            return yieldAfter(chunk, take(frames), call, relay);
          long ??= openLong();
          const next = long.push(frames, events);
          return next === "pause" ? next : yieldAfter(chunk, next, call, relay);
        } catch (error) {
          failReading(error);
          return "more";
        }
      },
      onEnd: () => {
        if (isEnded) return;
        try {
          if (long === undefined) take(events.end());
          else long.push(events.end(), events);
        } catch (error) {
          failReading(error);
        }
        if (long === undefined) endStream();
        else long.whenRead(endStream);
      },
      onFailure: (failure) => fail(classifyFailure(failure, provider)),
    };
  }

  /** The fault is part of the stream. */
  #withheld(problem: Fault): AttemptOutcome {
    const stream = this.#stream;
    if (!this.#relay.committed) this.#send("");
    if (this.#relay.clientStoppedReading) return { is: "disconnected", stream };
    return { is: "withheld", stream, fault: problem };
  }

  /** Some servers omit the end marker: the model's stop reason is enough. */
  #endStream(
    provider: string,
    finish: (outcome: AttemptOutcome) => void,
    fail: (verdict: FailureVerdict) => void,
  ): void {
    if (this.#stream.isFinished) this.#finishStream(provider, finish, fail);
    else fail(classifyMalformed("the stream ended without its end marker", provider));
  }

  #finishStream(
    provider: string,
    finish: (outcome: AttemptOutcome) => void,
    fail: (verdict: FailureVerdict) => void,
  ): void {
    const relay = this.#relay;
    const stream = this.#stream;
    if (stream.unusable !== undefined) {
      fail(classifyMalformed(stream.unusable, provider));
      return;
    }
    if (!relay.hasSentContent && !stream.isFinished && stream.outputWeight === 0) {
      fail(classifyMalformed("an empty stream", provider));
      return;
    }
    // An empty reply has its first byte at its end.
    if (!relay.hasSentContent) relay.markFirstContent();
    if (!relay.committed) this.#send("");
    finish(relay.committed ? { is: "relayed", stream, upstreamStatus: 200 } : { is: "disconnected", stream });
  }

  #send(text: string): boolean {
    const relay = this.#relay;
    if (!relay.committed) {
      // Output after a disconnect is not charged.
      if (relay.disconnected) return true;
      relay.commit();
    }
    const all = this.#preamble.length === 0 ? text : `${this.#preamble.splice(0).join("")}${text}`;
    this.#lastSentMs = relay.gateway.clock.monotonicMs();
    return all === "" ? true : relay.sink.write(all);
  }

  /** The dialect's keep-alive event is valid only after its first event; before that an SSE comment is sent. White space is always valid. */
  #keepAliveText(): string {
    return this.#hasBegun || this.#dialectKeepAlive.trim() === "" ? this.#dialectKeepAlive : COMMENT_KEEP_ALIVE;
  }

  /** One timer per period: restarting a timer with every frame would cost more than the frame. */
  #scheduleKeepAlive(atMs: number): void {
    const relay = this.#relay;
    const { keepAlives, clock, limits } = relay.gateway;
    relay.keepAlive = keepAlives.at(atMs, () => {
      const nowMs = clock.monotonicMs();
      if (nowMs - this.#lastSentMs < limits.keepAliveMs)
        return this.#scheduleKeepAlive(this.#lastSentMs + limits.keepAliveMs);
      // An unattended request stays uncommitted, so that it can still move to another endpoint.
      if (relay.committed || relay.sink.unattended !== true) this.#send(this.#keepAliveText());
      this.#scheduleKeepAlive(nowMs + limits.keepAliveMs);
    });
  }
}

function openLongFrames(
  relay: Relay,
  { call, adapter, workspaceId }: StreamReading,
  events: Pick<LongFramesDeps, "read" | "onRejected" | "onError">,
): LongFrames {
  return new LongFrames({
    guard: relay.gateway.responses,
    workspaceId,
    form: adapter.form ?? {},
    whenDrained: () => relay.whenDrained(),
    onRead: () => call.resume(),
    ...events,
  });
}

/** A full read buffer of a fast provider: the event loop serves others before the next one. */
const FULL_CHUNK_BYTES = 48 * 1024;

function yieldAfter({ length }: Buffer, next: "more" | "pause", call: UpstreamCall, relay: Relay): "more" | "pause" {
  if (next === "pause") relay.resumeWhenDrained(() => call.resume());
  else if (length < FULL_CHUNK_BYTES) return next;
  else setImmediate(() => call.resume());
  return "pause";
}

function classifyUnread(error: unknown, provider: string): FailureVerdict {
  if (error instanceof OversizedTextError) return classifyShape(error.message, provider);
  if (error instanceof OversizedEventError)
    return classifyShape(error.message + inParentheses(EVENT_SETTINGS[error.unit]), provider);
  const why = error instanceof ImplausibleFrameError ? error.message : "an event cannot be read";
  return classifyMalformed(why, provider);
}

/** The provider failed, or the gateway itself ended the response. */
function brokenOutcome({ sink, isExpired }: Relay, stream: StreamedReply, verdict: FailureVerdict): AttemptOutcome {
  const { refusal } = sink;
  const ended: FailureVerdict | undefined = isExpired
    ? { is: "stop", why: TIMEOUT_REASON, fault: timeoutFault() }
    : refusal && { is: "stop", why: "the gateway stopped reading", fault: refusal };
  return { is: "broken", stream, verdict: ended ?? verdict, upstreamStatus: 200 };
}

/** The first bytes are the commit point. False: wait for the drain. */
function sendBytes(relay: Relay, bytes: Buffer): boolean {
  if (relay.disconnected) return true;
  relay.markContent();
  if (!relay.committed) relay.commit();
  return relay.sink.write(bytes);
}

type AudioReading = {
  readonly call: UpstreamCall;
  readonly stream: AudioStream;
  readonly provider: string;
  readonly resolve: (outcome: AttemptOutcome) => void;
};

/** Relays audio bytes as they arrive; the first one is the commit point. */
export function audioReader(relay: Relay, { call, stream, provider, resolve }: AudioReading): UpstreamBodyHandler {
  let isEnded = false;
  const finish = (outcome: AttemptOutcome) => {
    isEnded = true;
    resolve(outcome);
  };
  const fail = (verdict: FailureVerdict) => {
    if (isEnded) return;
    if (relay.clientStoppedReading) finish({ is: "disconnected", stream });
    else if (relay.committed) finish(brokenOutcome(relay, stream, verdict));
    else finish({ is: "failed", verdict, upstreamStatus: 200 });
    // Last, because the abort is reported here as a failure.
    call.abort();
  };
  const relayPiece = (piece: AudioPiece): "more" | "pause" => {
    if (piece.is === "problem") fail(classifyProblem(piece.problem, provider));
    else if (piece.is === "malformed") fail(classifyMalformed(piece.why, provider));
    else if (piece.bytes.length > 0 && !sendBytes(relay, piece.bytes)) {
      relay.resumeWhenDrained(() => call.resume());
      return "pause";
    }
    return "more";
  };
  return {
    onData: (chunk) => {
      if (!isEnded) return relayPiece(stream.read(chunk));
      call.abort();
      return "more";
    },
    onEnd: () => {
      if (isEnded) return;
      relayPiece(stream.end());
      if (isEnded) return;
      if (relay.committed) finish({ is: "relayed", stream, upstreamStatus: 200 });
      else if (relay.disconnected) finish({ is: "disconnected", stream });
      else fail(classifyMalformed("the response has no audio", provider));
    },
    onFailure: (failure) => fail(classifyFailure(failure, provider)),
  };
}

function timeoutFault(): Fault {
  return fault("upstream_timeout", {
    message:
      "The response exceeded the gateway's time limit. The part sent so far is incomplete and is not charged. Send a smaller request.",
  });
}
