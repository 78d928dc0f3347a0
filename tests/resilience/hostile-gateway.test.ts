import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  EMBEDDINGS_KINDS,
  HOSTILE_INPUTS,
  HOSTILE_KINDS,
  hostileEmbeddings,
  hostileReply,
  hostileTranscript,
  type ReplyDialect,
  SMALL_PARTS,
  TRANSCRIPT_KINDS,
} from "../support/hostile-replies.ts";
import { openSocket } from "../support/responses-socket.ts";
import { connectedTo, QUIET } from "../support/scene.ts";
import { sound } from "../support/transcriptions.ts";
import { chatJson } from "../support/upstream.ts";

/** One gateway with a heap of 512 MB; its providers send hostile replies of every kind through every pair of dialects. */
const HEAP_MB = 512;
const BYTES = 2.25 * 1024 * 1024;
const AT_ONCE = 6;
/** The defaults of the settings. */
const TURN_BYTES_MAX = 1024 * 1024;
const TURN_MEMBERS_MAX = 8_000;
/** A translated text within its limit, in which every character is escaped; nothing longer than half of that is parsed. */
const WRITTEN_CHARS_MAX = 2 * TURN_BYTES_MAX;
/** Responses that are kept or sent over WebSocket: twice a part of a long string. */
const KEPT = /^(stored|background|streamed in the background|over WebSocket) /;
const SLICED_CHARS_MAX = 2 * 256 * 1024 + 4;

const MODELS: Readonly<Record<ReplyDialect, string>> = {
  chat: "mistral/mistral-small-2603",
  messages: "anthropic/claude-fable-5-1",
  gemini: "google/gemini-2.5-flash",
  converse: "amazon/nova-pro",
  responses: "openai/gpt-4o",
};
const DIALECTS: readonly ReplyDialect[] = ["chat", "messages", "responses", "gemini", "converse"];
const PROVIDERS = ["mistral", "anthropic", "google-ai-studio", "aws-bedrock", "openai", "scaleway"];
const ORDINARY = "alibaba/qwen3-235b-a22b-instruct-2507";
const PAIRS: readonly (readonly [string, ReplyDialect])[] = [
  ["chat", "chat"],
  ["chat", "messages"],
  ["chat", "gemini"],
  ["chat", "converse"],
  ["messages", "messages"],
  ["messages", "chat"],
  ["messages", "gemini"],
  ["messages", "converse"],
  ["responses", "responses"],
  ["responses", "chat"],
  ["responses", "messages"],
  ["responses", "gemini"],
  ["responses", "converse"],
];

function dialectOf(url: string): ReplyDialect {
  if (url.includes("/chat/completions")) return "chat";
  if (url.includes("enerateContent")) return "gemini";
  if (url.includes("converse")) return "converse";
  return url.includes("messages") ? "messages" : "responses";
}

const replies = new Map<string, Buffer>();
const upstream = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += String(piece);
  const kind = /KIND=([\w -]+)=/.exec(body)?.[1];
  const url = request.url ?? "";
  if (kind === undefined) {
    response.setHeader("content-type", "application/json").end(JSON.stringify(chatJson()));
    return;
  }
  if (url.includes("/embeddings") || url.includes("/audio/")) {
    const bytes = url.includes("/audio/") ? hostileTranscript(kind, BYTES) : hostileEmbeddings(kind, BYTES);
    response.setHeader("content-type", "application/json").end(bytes);
    return;
  }
  const dialect = dialectOf(url);
  const isStream = body.includes('"stream":true') || url.includes("stream");
  const name = `${dialect} ${kind} ${isStream}`;
  // Only the latest are kept: all of them would be a gigabyte.
  const bytes = replies.get(name) ?? hostileReply(dialect, kind, BYTES, isStream);
  replies.delete(name);
  replies.set(name, bytes);
  for (const [oldest] of replies) if (replies.size > 8) replies.delete(oldest);
  const binary = "application/vnd.amazon.eventstream";
  const type = isStream ? (dialect === "converse" ? binary : "text/event-stream") : "application/json";
  response.writeHead(200, { "content-type": type, "content-length": bytes.length }).end(bytes);
});

let child: ChildProcess;
let gateway: { origin: string; adminToken: string };
const dataDir = mkdtempSync(path.join(os.tmpdir(), "gateway-hostile-"));
beforeAll(async () => {
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
  const baseUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
  const connected = connectedTo(new Map(PROVIDERS.map((provider) => [provider, { baseUrl }])));
  const env = {
    ...QUIET,
    ...connected,
    PORT: "0",
    DATA_DIR: dataDir,
    LOG_LEVEL: "silent",
    GATEWAY_PROOF_EVERY: "never",
  };
  child = fork(path.join(import.meta.dirname, "hostile-gateway-child.ts"), {
    execArgv: [`--max-old-space-size=${HEAP_MB}`],
    env: { PATH: process.env["PATH"], ...env },
  });
  [gateway] = (await once(child, "message")) as [typeof gateway];
}, 60_000);
afterAll(async () => {
  child.kill("SIGKILL");
  upstream.close();
  upstream.closeAllConnections();
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  rmSync(dataDir, { recursive: true, force: true });
});

const post = (where: string, token: string, body: object) =>
  fetch(`${gateway.origin}${where}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

async function openWorkspace(slug: string): Promise<string> {
  await post("/manage/workspaces", gateway.adminToken, { slug, currency: "EUR" });
  await post(`/manage/workspaces/${slug}/wallet/credits`, gateway.adminToken, { amount: "1000" });
  const made = await post(`/manage/workspaces/${slug}/keys`, gateway.adminToken, { name: "k", environment: "live" });
  return ((await made.json()) as { key: string }).key;
}

function requestOf(client: string, upstreamDialect: ReplyDialect, kind: string, stream: boolean) {
  const content = `KIND=${kind}=`;
  const common = { model: MODELS[upstreamDialect], stream };
  if (client === "responses") return ["/v1/responses", { ...common, input: content, store: false }] as const;
  const messages = [{ role: "user", content }];
  if (client === "messages") return ["/v1/messages", { ...common, messages, max_tokens: 99 }] as const;
  return ["/v1/chat/completions", { ...common, messages }] as const;
}

/** Reads a response without keeping it. */
async function drain(response: Response): Promise<number> {
  for await (const _ of response.body ?? []);
  return response.status;
}

const MEMBERS = "502 more than 400000 members and items (GATEWAY_ANSWER_MAX_MEMBERS)";
const NESTING = "502 nested deeper than 128 levels";
const WHOLE_TEXT = "502 the text of the reply has more than 1048576 characters (GATEWAY_ANSWER_MAX_TEXT)";
const ONE_TEXT = "502 a text of the reply has more than 1048576 characters (GATEWAY_ANSWER_MAX_TEXT)";
const EVENT_TEXT = "502 a text of the reply has more than 1048576 characters (GATEWAY_ANSWER_MAX_EVENT_TEXT)";
/** A binary event is limited by its bytes, before it is read. */
const BINARY_EVENT = "502 an event longer than 2097152 bytes (GATEWAY_ANSWER_MAX_BINARY_EVENT)";

/** The status with the limit; `200` for a stream whose first events were sent before. */
function expectedEnd(client: string, dialect: ReplyDialect, kind: string, isStream: boolean): string {
  const isSame = client === dialect;
  if (dialect === "converse" && isStream)
    return ["arguments", "log-probs", "parts"].includes(kind) ? "200" : BINARY_EVENT;
  switch (kind) {
    case "members":
      return dialect === "responses" && isStream ? "200" : MEMBERS;
    case "nesting":
      return dialect === "responses" && isStream ? "200" : NESTING;
    case "arguments":
      // As a text, or as members.
      return dialect === "responses" || (dialect === "messages" && isStream) ? "200" : MEMBERS;
    case "text":
    case "escapes":
      if (isSame) return "200";
      return isStream ? EVENT_TEXT : ONE_TEXT;
    case "log-probs":
      return dialect === "gemini" ? "502 more than 6000 parts in its candidates (GATEWAY_ANSWER_MAX_PARTS)" : "200";
    case "parts":
      return expectedOfParts(client, dialect, isStream);
    default:
      return "200";
  }
}

function expectedOfParts(client: string, dialect: ReplyDialect, isStream: boolean): string {
  if (dialect === "chat") {
    if (client === "chat")
      return "502 a reply that does not conform to its dialect has more than 1048576 characters (GATEWAY_ANSWER_MAX_TEXT)";
    return isStream ? EVENT_TEXT : ONE_TEXT;
  }
  if (client === dialect || (dialect === "messages" && isStream)) return "200";
  return WHOLE_TEXT;
}

/** Six at once can use up the memory of their workspace. */
const isExpected = (end: string, expected: string) =>
  end.startsWith(expected) || end.startsWith("502 responses of this workspace already use");

/** The status, with the reason of an error. */
async function endOf(response: Response): Promise<string> {
  if (response.status === 200) return String(await drain(response));
  const text = await response.text();
  const message = /"message":"([^"]*)/.exec(text)?.[1] ?? text;
  return `${response.status} ${/was rejected: (.*)/.exec(message)?.[1] ?? message}`;
}

test("SAFE-01 hostile replies through every pair of dialects leave a gateway of 512 MB serving other workspaces", async () => {
  const [hostile, ordinary] = [await openWorkspace("hostile"), await openWorkspace("ordinary")];
  // One reply for all its callers in turn, so that it is made once.
  const replied = DIALECTS.flatMap((dialect) =>
    HOSTILE_KINDS.flatMap((kind) => [false, true].map((stream) => ({ dialect, kind, stream }))),
  );
  const waiting = replied.flatMap(({ dialect, kind, stream }) =>
    PAIRS.filter(([, replying]) => replying === dialect).map(([client]) => ({
      name: `${client}>${dialect} ${kind}${stream ? " stream" : ""}`,
      expected: expectedEnd(client, dialect, kind, stream),
      request: requestOf(client, dialect, kind, stream),
    })),
  );
  const ends: Record<string, { end: string; expected: string }> = {};
  const others: string[] = [];
  const attack = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
      ends[next.name] = {
        end: await endOf(await post(next.request[0], hostile, next.request[1])),
        expected: next.expected,
      };
  };
  let isOver = false;
  const serve = async () => {
    const messages = [{ role: "user", content: "Hello" }];
    while (!isOver) {
      others.push(await endOf(await post("/v1/chat/completions", ordinary, { model: ORDINARY, messages })));
      await sleep(20);
    }
  };
  const serving = serve();
  await Promise.all(Array.from({ length: AT_ONCE }, attack));
  isOver = true;
  await serving;
  expect(waiting).toEqual([]);
  const unexpected = Object.entries(ends).filter(([, { end, expected }]) => !isExpected(end, expected));
  expect(Object.fromEntries(unexpected)).toEqual({});
  expect([...new Set(others)]).toEqual(["200"]);
  const { chars, values, turns, rssMb } = await reportedTurns();
  expect([child.exitCode, turns > 100]).toEqual([null, true]);
  expect([chars <= TURN_BYTES_MAX, values <= TURN_MEMBERS_MAX]).toEqual([true, true]);
  expect(rssMb).toBeLessThan(900);
}, 120_000);

/** What the gateway did since the last report. */
async function reportedTurns(): Promise<TurnReport> {
  child.send("report");
  const [report] = (await once(child, "message")) as [TurnReport];
  return report;
}

type TurnReport = {
  readonly chars: number;
  readonly values: number;
  readonly turns: number;
  readonly parsedChars: number;
  readonly writtenChars: number;
  readonly rssMb: number;
};

const embed = (key: string, kind: string, encoding: string) =>
  post("/v1/embeddings", key, {
    model: "openai/text-embedding-3-small",
    input: Array.from({ length: HOSTILE_INPUTS }, (_, at) => `${at} KIND=${kind}=`),
    encoding_format: encoding,
  });

function transcribe(key: string, kind: string, format: string): Promise<Response> {
  const form = new FormData();
  const fields = { model: "openai/whisper-1", prompt: `KIND=${kind}=`, response_format: format };
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  if (format === "verbose_json") form.append("timestamp_granularities[]", "word");
  form.append("file", new Blob([new Uint8Array(sound(2))], { type: "audio/wav" }), "a.wav");
  return fetch(`${gateway.origin}/v1/audio/transcriptions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
}

test("SAFE-01 no turn exceeds its limit for embeddings, transcripts, stored and translated responses", async () => {
  const key = await openWorkspace("surfaces");
  const respond = (
    dialect: ReplyDialect,
    kind: string,
    more: { store?: boolean; stream?: boolean; background?: boolean } = {},
  ) => {
    const [where, body] = requestOf("responses", dialect, kind, false);
    return post(where, key, { ...body, ...more });
  };
  const headers = { authorization: `Bearer ${key}` };
  const read = (id: string) => fetch(`${gateway.origin}/v1/responses/${id}`, { headers });
  const storeAndRead = async (kind: string) => {
    const { id } = (await (await respond("responses", kind, { store: true })).json()) as { id: string };
    return read(id);
  };
  const runAndRead = async (kind: string) => {
    const queued = await respond("responses", kind, { store: true, background: true });
    const { id } = (await queued.json()) as { id: string };
    for (let response = await read(id); ; response = await read(id)) {
      const status = /"status":"(\w+)"/.exec(await response.clone().text())?.[1];
      if (status !== "queued" && status !== "in_progress") return response;
      await sleep(20);
    }
  };
  const socket = await openSocket(gateway.origin, key);
  const converse = async (kind: string) => {
    socket.create({ ...requestOf("responses", "responses", kind, false)[1], stream_id: "s" });
    await socket.until("response.completed");
    return new Response();
  };
  const cases: Readonly<Record<string, () => Promise<Response>>> = Object.fromEntries([
    ...EMBEDDINGS_KINDS.map((kind) => [`embeddings ${kind}`, () => embed(key, kind, "float")]),
    ["embeddings vectors as base64", () => embed(key, "vectors", "base64")],
    ...TRANSCRIPT_KINDS.flatMap((kind) =>
      // What is rejected is rendered in no format.
      ["json", ...(["members", "nesting"].includes(kind) ? [] : ["verbose_json", "srt"])].map((format) => [
        `transcript ${kind} as ${format}`,
        () => transcribe(key, kind, format),
      ]),
    ),
    ...(["gemini", "converse"] as const).flatMap((dialect) =>
      ["members", "text", "parts", "small parts"].map((kind) => [
        `responses>${dialect} ${kind}`,
        () => respond(dialect, kind),
      ]),
    ),
    ["streamed>gemini small parts", () => respond("gemini", "small parts", { stream: true })],
    ...["text", "escapes", "parts", "allowed members"].map((kind) => [`stored ${kind}`, () => storeAndRead(kind)]),
    ...["text", "allowed members"].flatMap((kind) => [
      [`background ${kind}`, () => runAndRead(kind)],
      [
        `streamed in the background ${kind}`,
        () => respond("responses", kind, { store: true, background: true, stream: true }),
      ],
      [`over WebSocket ${kind}`, () => converse(kind)],
    ]),
  ]);
  await reportedTurns();
  const unexpected: Record<string, string> = {};
  for (const [name, call] of Object.entries(cases)) {
    const end = await endOf(await call());
    if (!end.startsWith(expectedOfSurface(name))) unexpected[name] = end;
    const { chars, values, turns, parsedChars, writtenChars } = await reportedTurns();
    // Deep nesting is rejected at its start.
    const turnsMin = name.includes("nesting") ? 1 : 2;
    expect([name, chars <= TURN_BYTES_MAX, values <= TURN_MEMBERS_MAX, turns >= turnsMin]).toEqual([
      name,
      true,
      true,
      true,
    ]);
    // All parts of a translated reply are read in one turn, which their limit bounds.
    if (name.endsWith("small parts")) expect([name, values >= SMALL_PARTS]).toEqual([name, true]);
    // Whatever is not counted as a turn reads and writes no more of it at once.
    const atOnceMax = KEPT.test(name) ? SLICED_CHARS_MAX : WRITTEN_CHARS_MAX;
    expect([name, parsedChars <= atOnceMax / 2, writtenChars <= atOnceMax]).toEqual([name, true, true]);
  }
  socket.ws.close();
  expect(unexpected).toEqual({});
}, 120_000);

function expectedOfSurface(name: string): string {
  if (name.endsWith("allowed members")) return "200";
  if (name.includes("members")) return MEMBERS;
  if (name.includes("nesting")) return NESTING;
  if (name === "transcript dashes as srt")
    return "502 the text of the subtitles has more than 1048576 characters (GATEWAY_ANSWER_MAX_TEXT)";
  if (!name.startsWith("responses>") || name.endsWith("small parts")) return "200";
  return name.endsWith("parts") ? WHOLE_TEXT : ONE_TEXT;
}
