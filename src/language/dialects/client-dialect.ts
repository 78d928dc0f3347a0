import type { ErrorEnvelope } from "../../contract/error-envelope.ts";
import type { Call } from "../canon/call.ts";
import type { Place } from "../canon/places.ts";
import type { ReportedCost } from "../canon/reply.ts";
import type { ReplyEvent } from "../canon/reply-events.ts";
import type { Usage } from "../canon/usage.ts";

/** Fields that repeat in every object of one reply. */
export type ReplyHead = {
  readonly id: string;
  readonly createdSeconds: number;
  readonly model: string;
  /** The gateway's own estimate, for dialects that state the input before the provider does. */
  readonly inputTokens: number;
};

export type FinishEvent = Extract<ReplyEvent, { is: "finish" }>;

export type ReplyClosing = {
  readonly finish: FinishEvent | undefined;
  readonly usage: Usage;
  readonly cost: ReportedCost | undefined;
  /** Paths of members of the reply that were not carried, as listed for the client; absent: all were. */
  readonly omitted?: readonly string[] | undefined;
};

/** Encodes one reply for its caller, event by event. */
export type ReplyWriter = {
  /** Returns "" for events that are not shown immediately. `finish` goes to `close`. */
  write(event: ReplyEvent): string;
  close(closing: ReplyClosing): string;
  fail(envelope: ErrorEnvelope): string;
  /** Paths of events that arrived too late to be written. */
  readonly omitted?: readonly string[] | undefined;
  /** See `StreamedReply`. */
  readonly cutsWhenFailed?: boolean | undefined;
  readonly finalJson?: string | undefined;
};

/** Encodes canonical events for the callers of one dialect. */
export type ClientDialect = {
  /** Reply content that this surface can express and others cannot. */
  readonly places: ReadonlySet<Place>;
  /** Sent on an idle stream. */
  readonly keepAlive: string;
  /** Paths of events of a whole reply that cannot be written; absent: all can. */
  omitted?(events: readonly ReplyEvent[]): readonly string[];
  openWriter(head: ReplyHead, call: Call): ReplyWriter;
  /** The whole reply that a client would assemble from the stream. */
  render(
    events: readonly ReplyEvent[],
    head: ReplyHead,
    call: Call,
    counted: Usage,
    shown: ReportedCost | undefined,
  ): string;
};
