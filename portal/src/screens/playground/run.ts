import { useCallback, useRef, useState } from "react";
import { ApiError, apiErrorOf, errorOf } from "../../api/error.ts";
import { type Draft, isChat, pathOf } from "./draft.ts";
import { type ApiResponse, at, EventCutter, fold, NO_ANSWER, whole } from "./fold.ts";
import { compose } from "./request.ts";

/** What served the request, as the headers said it. */
export type Served = { readonly [name: string]: string | undefined };

export type Cost = {
  readonly cost: string | null;
  readonly currency: string;
  readonly ttfb_ms: number | null;
  readonly total_ms: number;
  readonly overhead_ms: number;
  readonly attempts: number;
  readonly usage: Readonly<Record<string, number | boolean | null>>;
};

export type Run = {
  readonly state: "idle" | "running" | "done" | "stopped";
  readonly answer: ApiResponse;
  /** The body of an answer that is no conversation. */
  readonly body: unknown;
  readonly audio: { readonly url: string; readonly format: string } | null;
  /** What came over the wire, for those who want to see it. */
  readonly frames: readonly unknown[];
  readonly served: Served | null;
  readonly cost: Cost | null;
  readonly firstMs: number | null;
  readonly totalMs: number | null;
  readonly error: ApiError | null;
};

const IDLE: Run = {
  state: "idle",
  answer: NO_ANSWER,
  body: null,
  audio: null,
  frames: [],
  served: null,
  cost: null,
  firstMs: null,
  totalMs: null,
  error: null,
};

const SERVED = [
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
const COST_TRIES = 5;
const COST_WAIT_MS = 400;

type Keys = { readonly get: () => Promise<string>; readonly forget: () => void };
type Update = (change: (run: Run) => Run) => void;

/** Sends drafts, one at a time, and says what comes while it comes. */
export function useRun(keys: Keys) {
  const [run, setRun] = useState<Run>(IDLE);
  const abort = useRef<AbortController | null>(null);
  const stop = useCallback(() => abort.current?.abort(), []);
  const reset = useCallback(() => setRun(IDLE), []);
  const start = useCallback(
    async (draft: Draft, file: File | null): Promise<Run> => {
      abort.current?.abort();
      const controller = new AbortController();
      abort.current = controller;
      let now: Run = { ...IDLE, state: "running" };
      const update: Update = (change) => {
        now = change(now);
        // An earlier run that still ends must not write over the one that began after it.
        if (abort.current === controller) setRun(now);
      };
      setRun(now);
      const startedMs = performance.now();
      let key = "";
      try {
        key = await keys.get();
        await send({ draft, file, key, signal: controller.signal, update, startedMs });
        update((last) => ({ ...last, state: "done", totalMs: performance.now() - startedMs }));
      } catch (thrown) {
        const error = controller.signal.aborted ? null : apiErrorOf(thrown);
        if (error?.status === 401) keys.forget();
        update((last) => ({
          ...last,
          state: controller.signal.aborted ? "stopped" : "done",
          error,
          totalMs: performance.now() - startedMs,
        }));
      }
      // What was stopped is charged for what came until then, and a failure costs nothing: both are told too. A call that was
      // stopped at its key is in no log, or would only be stopped again.
      if (now.error?.status !== 401 && now.error?.status !== 429)
        void tellCost(now.served?.["x-svc-request-id"], key, update, now.state === "stopped");
      return now;
    },
    [keys.get, keys.forget],
  );
  return { run, start, stop, reset };
}

type Sending = {
  readonly draft: Draft;
  readonly file: File | null;
  readonly key: string;
  readonly signal: AbortSignal;
  readonly update: Update;
  readonly startedMs: number;
};

async function send(sending: Sending): Promise<void> {
  const { draft, key, signal, update, startedMs } = sending;
  const { body, type } = payloadOf(sending);
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
      message: "The gateway could not be reached. Check the connection and try again.",
    });
  });
  const served = Object.fromEntries(SERVED.map((name) => [name, response.headers.get(name) ?? undefined]));
  update((last) => ({ ...last, served, firstMs: performance.now() - startedMs }));
  if (!response.ok) throw errorOf(response.status, parsed(await response.text()), served["x-svc-request-id"] ?? null);
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) await follow(response, draft, update);
  else await take(response, draft, update);
}

function payloadOf({ draft, file }: Sending): { body: BodyInit; type: string | undefined } {
  const composed = compose(draft);
  if (composed.is === "problem")
    throw new ApiError({ status: 0, code: "unfinished", message: composed.says, param: composed.at });
  if (composed.is === "json") return { body: JSON.stringify(composed.body), type: "application/json" };
  if (file === null)
    throw new ApiError({ status: 0, code: "unfinished", message: "Choose an audio file first.", param: "file" });
  const form = new FormData();
  form.set("file", file, file.name);
  for (const [name, value] of composed.fields) form.set(name, value);
  return { body: form, type: undefined };
}

async function follow(response: Response, draft: Draft, update: Update): Promise<void> {
  const { surface } = draft;
  if (response.body === null || !isChat(surface)) return;
  const cutter = new EventCutter();
  const decoder = new TextDecoder();
  for await (const bytes of response.body) {
    const events = cutter.push(decoder.decode(bytes, { stream: true }));
    if (events.length === 0) continue;
    update((last) => ({
      ...last,
      answer: events.reduce<ApiResponse>((sum, event) => fold(surface, sum, event), last.answer),
      frames: [...last.frames, ...events].slice(0, FRAMES_MAX),
    }));
  }
  update((last) => {
    if (last.answer.error === null) return last;
    const said = { status: 200, code: "stream_failed", message: last.answer.error };
    return { ...last, error: new ApiError({ ...said, requestId: last.served?.["x-svc-request-id"] ?? null }) };
  });
}

async function take(response: Response, draft: Draft, update: Update): Promise<void> {
  const { surface } = draft;
  if (surface === "speech") {
    const blob = await response.blob();
    update((last) => ({ ...last, audio: { url: URL.createObjectURL(blob), format: draft.format || "mp3" } }));
    return;
  }
  const text = await response.text();
  const body = parsed(text) ?? text;
  const answer = isChat(surface) ? whole(surface, body) : { ...NO_ANSWER, text: transcriptOf(body) };
  update((last) => ({ ...last, answer, body, frames: [body] }));
}

function transcriptOf(body: unknown): string {
  const text = at(body, "text");
  return typeof text === "string" ? text : typeof body === "string" ? body : "";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What it cost is written a moment after the answer, or after the gateway saw that nobody listens; a few looks are enough. */
async function tellCost(id: string | undefined, key: string, update: Update, isStopped: boolean): Promise<void> {
  if (id === undefined) return;
  if (isStopped) await new Promise((resolve) => setTimeout(resolve, COST_WAIT_MS));
  for (let look = 0; look < COST_TRIES; look += 1) {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`/v1/requests/${encodeURIComponent(id)}`, { headers, credentials: "omit" }).catch(
      () => undefined,
    );
    if (response?.ok === true) {
      const cost: Cost = await response.json();
      update((last) => ({ ...last, cost }));
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, COST_WAIT_MS));
  }
}
