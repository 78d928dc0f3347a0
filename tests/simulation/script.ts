import type { UpstreamFailure } from "../../src/io/upstream/transport.ts";
import type { Chance } from "./chance.ts";
import { type Answer, chatStream, chatWhole, messagesStream, messagesWhole, type Pieces } from "./replies.ts";

/** Everything that can go wrong at a provider. */
export const TROUBLES = [
  "refused",
  "connect_timeout",
  "silent",
  "reset",
  "429",
  "429_soon",
  "429_later",
  "500",
  "502",
  "503",
  "503_soon",
  "504",
  "400",
  "401",
  "404",
  "content_policy",
  "html",
  "compressed",
  "garbage",
  "empty",
  "cut_early",
  "cut_late",
  "cut_before_figures",
  "stall_early",
  "stall_late",
  "error_frame_early",
  "error_frame_late",
  "talks_on",
  "lie",
] as const;
export type Trouble = (typeof TROUBLES)[number];

export type Step = { readonly afterMs: number } & (
  | { readonly is: "head"; readonly status: number; readonly headers: Readonly<Record<string, string>> }
  /** `isLast`: the listener has received everything. */
  | { readonly is: "data"; readonly text: string; readonly isLast?: true }
  | { readonly is: "end" }
  | { readonly is: "fail"; readonly failure: UpstreamFailure }
);

export type Patience = { readonly connectMs: number; readonly firstByteMs: number; readonly idleMs: number };

/** Faults after which the same endpoint may be retried: it processed nothing, or sent Retry-After. */
export function mayRetrySameEndpoint(trouble: Trouble | "well"): boolean {
  return trouble === "refused" || trouble === "connect_timeout" || trouble === "429_soon" || trouble === "503_soon";
}

const STATUSES: Partial<Record<Trouble | "well", { status: number; retryAfter?: string; error?: object }>> = {
  "429": { status: 429 },
  "429_soon": { status: 429, retryAfter: "1" },
  "429_later": { status: 429, retryAfter: "30" },
  "500": { status: 500 },
  "502": { status: 502 },
  "503": { status: 503 },
  "503_soon": { status: 503, retryAfter: "1" },
  "504": { status: 504 },
  "400": { status: 400, error: { message: "the request is not to our liking", code: "bad" } },
  "401": { status: 401 },
  "404": { status: 404 },
  content_policy: { status: 403, error: { message: "not said here", type: "content_policy", code: "content_policy" } },
};

export type CallShape = {
  readonly dialect: "D1" | "D2";
  readonly streaming: boolean;
  readonly answer: Answer;
  readonly patience: Patience;
  /** The longest silence between two chunks. */
  readonly pauseMs: number;
};

/** The steps of one call. */
export function scriptOf(trouble: Trouble | "well", shape: CallShape, chance: Chance): Step[] {
  const { patience } = shape;
  const thinksMs = chance.between(5, 400);
  const failure = (kind: UpstreamFailure["kind"], sent: boolean, afterMs: number): Step[] => [
    { is: "fail", afterMs, failure: { kind, sent, why: trouble } },
  ];
  switch (trouble) {
    case "refused":
      return failure("connect", false, chance.between(0, 30));
    case "connect_timeout":
      return failure("timeout", false, patience.connectMs);
    case "silent":
      return failure("timeout", true, patience.firstByteMs);
    case "reset":
      return failure("broken", true, thinksMs);
    default:
      break;
  }
  const status = STATUSES[trouble];
  if (status !== undefined) return [...problem(status, thinksMs)];
  return answered(trouble, shape, chance, thinksMs);
}

function problem(
  { status, retryAfter, error }: { status: number; retryAfter?: string; error?: object },
  afterMs: number,
): Step[] {
  const headers = {
    "content-type": "application/json",
    ...(retryAfter === undefined ? {} : { "retry-after": retryAfter }),
  };
  const text = JSON.stringify({ type: "error", error: error ?? { message: "trouble", type: "server_error" } });
  return [
    { is: "head", afterMs, status, headers },
    { is: "data", afterMs: 1, text },
    { is: "end", afterMs: 0 },
  ];
}

function answered(trouble: Trouble | "well", shape: CallShape, chance: Chance, thinksMs: number): Step[] {
  const pieces = piecesOf(shape);
  const type = trouble === "html" ? "text/html" : pieces.type;
  const head: Step = {
    is: "head",
    afterMs: thinksMs,
    status: 200,
    headers: { "content-type": type, ...(trouble === "compressed" ? { "content-encoding": "gzip" } : {}) },
  };
  const pauseMs = () => (chance.is(0.1) ? chance.between(0, shape.pauseMs) : chance.between(0, 60));
  const data = (text: string): Step => ({ is: "data", afterMs: pauseMs(), text });
  const all = (list: readonly string[]) => list.map(data);
  const end: Step = { is: "end", afterMs: chance.between(0, 20) };
  const cut: Step = { is: "fail", afterMs: 5, failure: { kind: "broken", sent: true, why: trouble } };
  const stalled: Step = {
    is: "fail",
    afterMs: shape.patience.idleMs,
    failure: { kind: "timeout", sent: true, why: trouble },
  };
  const { preamble, content, finish, usage } = pieces;
  const last = pieces.last.map((text): Step => ({ is: "data", afterMs: pauseMs(), text, isLast: true }));
  const early = shape.streaming ? all(preamble) : [];
  const late = [...all(preamble), ...all(content.slice(0, shape.streaming ? chance.between(1, content.length) : 1))];
  const errorFrame = data(shape.dialect === "D1" ? CHAT_ERROR : MESSAGES_ERROR);
  switch (trouble) {
    case "garbage":
      return [head, data("data: {not json\n\n"), end];
    case "html":
      return [head, data("<html>"), end];
    case "empty":
      return [head, ...(shape.streaming ? last : []), end];
    case "cut_early":
      return [head, ...early, cut];
    case "cut_late":
      return [head, ...late, cut];
    case "cut_before_figures":
      return [head, ...all(preamble), ...all(content), ...all(finish), ...(shape.streaming ? [cut] : [end])];
    case "stall_early":
      return [head, ...early, stalled];
    case "stall_late":
      return [head, ...late, stalled];
    case "error_frame_early":
      return shape.streaming ? [head, ...early, errorFrame, end] : [head, cut];
    case "error_frame_late":
      return shape.streaming ? [head, ...late, errorFrame, end] : [head, cut];
    case "talks_on":
      return [head, ...all(preamble), ...all(content), ...all(finish), ...all(usage), ...last, ...all(content), end];
    default:
      return [head, ...all(preamble), ...all(content), ...all(finish), ...all(usage), ...last, end];
  }
}

const CHAT_ERROR = `data: ${JSON.stringify({ error: { message: "overloaded", type: "server_error" } })}\n\n`;
const MESSAGES_ERROR = `event: error\ndata: ${JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "overloaded" } })}\n\n`;

function piecesOf({ dialect, streaming, answer }: CallShape): Pieces {
  if (dialect === "D1") return streaming ? chatStream(answer) : chatWhole(answer);
  return streaming ? messagesStream(answer) : messagesWhole(answer);
}
