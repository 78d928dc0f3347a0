import { useCallback, useRef, useState } from "react";
import { ApiError, apiErrorOf, errorOf } from "../../api/error.ts";
import { type Draft, isChat, pathOf } from "./draft.ts";
import { applyEvent, EMPTY_REPLY, type ModelReply, replyFromBody, SseParser, valueAt } from "./model-reply.ts";
import { composeRequest } from "./request.ts";

/** Routing headers of the response. */
export type RoutingHeaders = { readonly [name: string]: string | undefined };

export type CostRecord = {
  readonly cost: string | null;
  readonly currency: string;
  readonly ttfb_ms: number | null;
  readonly total_ms: number;
  readonly overhead_ms: number;
  readonly attempts: number;
  readonly usage: Readonly<Record<string, number | boolean | null>>;
};

export type PlaygroundRun = {
  /** The request as sent; null before the first one. */
  readonly sent: Draft | null;
  readonly state: "idle" | "running" | "done" | "stopped";
  readonly reply: ModelReply;
  /** The body of a response that is not a chat reply. */
  readonly body: unknown;
  readonly audio: { readonly url: string; readonly format: string } | null;
  /** The raw response events. */
  readonly frames: readonly unknown[];
  readonly routing: RoutingHeaders | null;
  readonly cost: CostRecord | null;
  readonly firstMs: number | null;
  readonly totalMs: number | null;
  readonly error: ApiError | null;
};

export const IDLE_RUN: PlaygroundRun = {
  sent: null,
  state: "idle",
  reply: EMPTY_REPLY,
  body: null,
  audio: null,
  frames: [],
  routing: null,
  cost: null,
  firstMs: null,
  totalMs: null,
  error: null,
};

const ROUTING_HEADERS = [
  "x-svc-request-id",
  "x-svc-model",
  "x-svc-provider",
  "x-svc-compute-countries",
  "x-svc-sovereignty-level",
  "x-svc-route-reason",
  "x-svc-router",
  "x-svc-upstream-surface",
  "x-svc-reasoning-effort",
] as const;
const FRAMES_MAX = 500;
const COST_ATTEMPTS = 5;
const COST_WAIT_MS = 400;

type Keys = { readonly get: () => Promise<string>; readonly discard: () => void };
type Update = (change: (run: PlaygroundRun) => PlaygroundRun) => void;

/** Sends one draft per column, independently of the others, and updates its run while the response streams. */
export function useRuns(keys: Keys) {
  const [runs, setRuns] = useState<readonly PlaygroundRun[]>([]);
  const controllers = useRef<(AbortController | undefined)[]>([]);
  const stop = useCallback(() => {
    for (const controller of controllers.current) controller?.abort();
  }, []);
  /** Aborts all runs; updates that arrive later are ignored. */
  const reset = useCallback(() => {
    stop();
    controllers.current = [];
    setRuns([]);
  }, [stop]);
  /** Removes a column; the runs behind it move up. */
  const remove = useCallback((column: number) => {
    controllers.current[column]?.abort();
    controllers.current = controllers.current.toSpliced(column, 1);
    setRuns((before) => before.toSpliced(column, 1));
  }, []);
  const start = useCallback(
    async (column: number, draft: Draft, file: File | null): Promise<PlaygroundRun> => {
      controllers.current[column]?.abort();
      const controller = new AbortController();
      controllers.current[column] = controller;
      let now: PlaygroundRun = { ...IDLE_RUN, state: "running", sent: draft };
      const update: Update = (change) => {
        now = change(now);
        // Columns move when one is removed; a run that was replaced has none.
        const at = controllers.current.indexOf(controller);
        if (at !== -1) setRuns((before) => withRun(before, at, now));
      };
      update((last) => last);
      const startedMs = performance.now();
      let key = "";
      try {
        key = await keys.get();
        await send({ draft, file, key, signal: controller.signal, update, startedMs });
        update((last) => ({ ...last, state: "done", totalMs: performance.now() - startedMs }));
      } catch (thrown) {
        const error = controller.signal.aborted ? null : apiErrorOf(thrown);
        if (error?.status === 401) keys.discard();
        update((last) => ({
          ...last,
          state: controller.signal.aborted ? "stopped" : "done",
          error,
          totalMs: performance.now() - startedMs,
        }));
      }
      // Stopped and failed runs have a cost record too. Requests rejected with 401 or 429
      // have none, or fetching it would be rejected as well.
      if (now.error?.status !== 401 && now.error?.status !== 429)
        void fetchCost(now.routing?.["x-svc-request-id"], key, update, now.state === "stopped");
      return now;
    },
    [keys.get, keys.discard],
  );
  return { runs, start, stop, reset, remove };
}

function withRun(runs: readonly PlaygroundRun[], column: number, run: PlaygroundRun): readonly PlaygroundRun[] {
  const next = [...runs];
  while (next.length <= column) next.push(IDLE_RUN);
  next[column] = run;
  return next;
}

type SendOptions = {
  readonly draft: Draft;
  readonly file: File | null;
  readonly key: string;
  readonly signal: AbortSignal;
  readonly update: Update;
  readonly startedMs: number;
};

async function send(options: SendOptions): Promise<void> {
  const { draft, key, signal, update, startedMs } = options;
  const { body, type } = payloadOf(options);
  const response = await fetch(pathOf(draft.surface), {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "x-title": "Playground",
      ...(type === undefined ? {} : { "content-type": type }),
    },
    body,
    credentials: "omit",
    signal,
  }).catch((thrown: unknown) => {
    if (signal.aborted) throw thrown;
    throw new ApiError({
      status: 0,
      code: "unreachable",
      message: "Can't reach the gateway. Check your connection and try again.",
    });
  });
  const routing = Object.fromEntries(ROUTING_HEADERS.map((name) => [name, response.headers.get(name) ?? undefined]));
  update((last) => ({ ...last, routing, firstMs: performance.now() - startedMs }));
  if (!response.ok)
    throw errorOf(response.status, parseJson(await response.text()), routing["x-svc-request-id"] ?? null);
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) await readStream(response, draft, update);
  else await readResponse(response, draft, update);
}

function payloadOf({ draft, file }: SendOptions): { body: BodyInit; type: string | undefined } {
  const composed = composeRequest(draft);
  if (composed.kind === "problem")
    throw new ApiError({ status: 0, code: "invalid_draft", message: composed.message, param: composed.at });
  if (composed.kind === "json") return { body: JSON.stringify(composed.body), type: "application/json" };
  if (file === null)
    throw new ApiError({ status: 0, code: "invalid_draft", message: "Select an audio file.", param: "file" });
  const form = new FormData();
  form.set("file", file, file.name);
  for (const [name, value] of composed.fields) form.set(name, value);
  return { body: form, type: undefined };
}

async function readStream(response: Response, draft: Draft, update: Update): Promise<void> {
  const { surface } = draft;
  if (response.body === null || !isChat(surface)) return;
  const parser = new SseParser();
  const decoder = new TextDecoder();
  for await (const bytes of response.body) {
    const events = parser.push(decoder.decode(bytes, { stream: true }));
    if (events.length === 0) continue;
    update((last) => ({
      ...last,
      reply: events.reduce<ModelReply>((sum, event) => applyEvent(surface, sum, event), last.reply),
      frames: [...last.frames, ...events].slice(0, FRAMES_MAX),
    }));
  }
  update((last) => {
    if (last.reply.error === null) return last;
    const { code, message } = last.reply.error;
    const requestId = last.routing?.["x-svc-request-id"] ?? null;
    return { ...last, error: new ApiError({ status: response.status, code, message, requestId }) };
  });
}

async function readResponse(response: Response, draft: Draft, update: Update): Promise<void> {
  const { surface } = draft;
  if (surface === "speech") {
    const blob = await response.blob();
    update((last) => ({ ...last, audio: { url: URL.createObjectURL(blob), format: draft.format || "mp3" } }));
    return;
  }
  const text = await response.text();
  const body = parseJson(text) ?? text;
  const reply = isChat(surface) ? replyFromBody(surface, body) : { ...EMPTY_REPLY, text: transcriptOf(body) };
  update((last) => ({ ...last, reply, body, frames: [body] }));
}

function transcriptOf(body: unknown): string {
  const text = valueAt(body, "text");
  return typeof text === "string" ? text : typeof body === "string" ? body : "";
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The record is written shortly after the response ends, so fetching it is retried. */
async function fetchCost(id: string | undefined, key: string, update: Update, isStopped: boolean): Promise<void> {
  if (id === undefined) return;
  if (isStopped) await new Promise((resolve) => setTimeout(resolve, COST_WAIT_MS));
  for (let attempt = 0; attempt < COST_ATTEMPTS; attempt += 1) {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`/v1/requests/${encodeURIComponent(id)}`, { headers, credentials: "omit" }).catch(
      () => undefined,
    );
    if (response?.ok === true) {
      const cost: CostRecord = await response.json();
      update((last) => ({ ...last, cost }));
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, COST_WAIT_MS));
  }
}
