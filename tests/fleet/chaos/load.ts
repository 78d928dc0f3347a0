import { setTimeout as sleep } from "node:timers/promises";
import type { Chance } from "../../simulation/chance.ts";
import type { Json } from "./fleet.ts";

/** What a caller saw of one request. */
export type CallOutcome = {
  readonly who: string;
  readonly kind: Kind;
  readonly startedMs: number;
  readonly tookMs: number;
  /** `cut`: the response began and broke off. `lost`: there was none. */
  readonly outcome: "whole" | "refused" | "cut" | "lost";
  readonly status: number | undefined;
  /** The code of a gateway error; `balancer` when the balancer wrote it. */
  readonly code: string | undefined;
  readonly retryAfter: string | null;
  readonly requestId: string | null;
  /** By the response itself; undefined when it does not say, or is incomplete. */
  readonly costNanos: number | undefined;
};

export type Kind = "json" | "stream" | "messages" | "embeddings";

export type Caller = { readonly who: string; readonly key: string; readonly pauseMs: number };

/** Longer than any timeout of the gateway: a call that takes longer hangs. */
const PATIENCE_MS = 30_000;

/** One caller that sends one request after the other until it is stopped. */
export async function call(
  url: string,
  caller: Caller,
  chance: Chance,
  seen: CallOutcome[],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    seen.push(await ask(url, caller, chance.pick(["json", "json", "stream", "messages", "embeddings"])));
    await sleep(chance.between(0, 2 * caller.pauseMs));
  }
}

const WORDS = "How is money kept exact over several machines?";

function requestOf(kind: Kind): { readonly path: string; readonly body: Json } {
  const messages = [{ role: "user", content: WORDS }];
  switch (kind) {
    case "json":
      return { path: "/v1/chat/completions", body: { model: "sandbox/chat", messages, max_tokens: 64 } };
    case "stream":
      return {
        path: "/v1/chat/completions",
        body: {
          model: "sandbox/chat",
          messages,
          max_tokens: 64,
          stream: true,
          stream_options: { include_usage: true },
        },
      };
    case "messages":
      return { path: "/v1/messages", body: { model: "sandbox/chat", messages, max_tokens: 64 } };
    case "embeddings":
      return { path: "/v1/embeddings", body: { model: "sandbox/embed", input: WORDS } };
  }
}

/** One request, and everything about how it ended. */
export async function ask(url: string, { who, key }: Pick<Caller, "who" | "key">, kind: Kind): Promise<CallOutcome> {
  const startedMs = performance.now();
  const { path, body } = requestOf(kind);
  const common = { who, kind, startedMs };
  let answer: Response;
  try {
    answer = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  } catch (error) {
    return { ...common, ...NOTHING, tookMs: performance.now() - startedMs, outcome: "lost", code: nameOf(error) };
  }
  const result = {
    status: answer.status,
    retryAfter: answer.headers.get("retry-after"),
    requestId: answer.headers.get("x-svc-request-id"),
  };
  let text: string | undefined;
  try {
    text = await answer.text();
  } catch {
    text = undefined;
  }
  const tookMs = performance.now() - startedMs;
  if (!answer.ok) return { ...common, ...result, tookMs, outcome: "refused", code: codeIn(text), costNanos: undefined };
  const whole = text === undefined ? undefined : wholeIn(kind, text);
  const outcome = whole === undefined ? "cut" : "whole";
  return { ...common, ...result, tookMs, outcome, code: undefined, costNanos: whole?.costNanos };
}

const NOTHING = { status: undefined, retryAfter: null, requestId: null, costNanos: undefined };

function nameOf(error: unknown): string {
  return error instanceof Error ? (error.name === "TimeoutError" ? "hang" : error.name) : "unknown";
}

function codeIn(text: string | undefined): string {
  try {
    const { error } = JSON.parse(text ?? "");
    return String(error.code ?? error.type ?? "unknown");
  } catch {
    return "balancer";
  }
}

/** The cost in a complete response; undefined when it is incomplete. */
function wholeIn(kind: Kind, text: string): { readonly costNanos: number | undefined } | undefined {
  try {
    if (kind !== "stream") return { costNanos: nanos(JSON.parse(text).usage?.cost) };
    if (!text.trimEnd().endsWith("data: [DONE]")) return undefined;
    const frames = text.split("\n").filter((line) => line.startsWith("data: {"));
    const last: Json = frames.map((line) => JSON.parse(line.slice("data: ".length))).findLast(({ usage }) => usage);
    return { costNanos: nanos(last?.usage.cost) };
  } catch {
    return undefined;
  }
}

function nanos(amount: unknown): number | undefined {
  const value = Number(amount);
  return amount === undefined || amount === null || Number.isNaN(value) ? undefined : Math.round(value * 1e9);
}
