import type { ErrorEnvelope } from "../../contract/faults.ts";
import type { Call } from "../canon/call.ts";
import type { ReportedCost } from "../canon/reply.ts";
import type { ReplyEvent } from "../canon/reply-events.ts";
import type { Usage } from "../canon/usage.ts";

/** What stands in every object of one answer. */
export type ReplyHead = {
  readonly id: string;
  readonly createdSeconds: number;
  readonly model: string;
  /** The input as the gateway counts it, for dialects that state it before the provider does. */
  readonly inputTokens: number;
};

export type FinishEvent = Extract<ReplyEvent, { is: "finish" }>;

/** What is known at the end of an answer. */
export type ReplyClosing = {
  readonly finish: FinishEvent | undefined;
  readonly usage: Usage;
  readonly cost: ReportedCost | undefined;
};

/** Writes one answer for its caller, event by event. */
export type ReplyWriter = {
  /** The caller's text of one event; "" for what is not shown as it comes. Never given a `finish`: see `close`. */
  write(event: ReplyEvent): string;
  close(closing: ReplyClosing): string;
  fail(envelope: ErrorEnvelope): string;
  /** See AnswerStream. */
  readonly finalJson?: string | undefined;
};

/** What canonical events look like to the callers of one dialect. */
export type ClientDialect = {
  /** What keeps an idle stream open. */
  readonly keepAlive: string;
  openWriter(head: ReplyHead, call: Call): ReplyWriter;
  /** A whole answer: the same that a caller would put together from the stream. */
  render(
    events: readonly ReplyEvent[],
    head: ReplyHead,
    call: Call,
    counted: Usage,
    shown: ReportedCost | undefined,
  ): string;
};
