import { once } from "node:events";
import { openAsBlob } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isJsonObject, type JsonObject } from "../kit/json.ts";
import { formatDuration } from "../kit/time.ts";
import { answerOf, baseUrl, unreachable } from "./client.ts";
import { CliError, type Invocation, type Output, type View } from "./command.ts";
import { askKey } from "./connect/ask-key.ts";
import { asText, cell } from "./print.ts";
import { columns } from "./rows.ts";

const ENDED: ReadonlySet<unknown> = new Set(["completed", "failed", "expired", "cancelled"]);
const POLL_MS = 1_000;
const BAR_CHARS = 30;

const LIST: View = {
  is: "table",
  columns: [
    ...columns("id", "status", "endpoint"),
    { title: "ended", at: "svc.requests.ended" },
    { title: "total", at: "svc.requests.total" },
    { title: "failed", at: "request_counts.failed" },
    { title: "cost", at: "svc.cost" },
    { title: "currency", at: "svc.currency" },
  ],
  none: "Create one with `gateway batch create <file>`.",
};

/** The API for files and batches, with a key as any caller has one. */
type BatchClient = {
  call(method: "GET" | "POST", target: string, body?: JsonObject | FormData): Promise<JsonObject>;
  content(target: string): Promise<Response>;
};

async function batchClient({ options, shell }: Invocation): Promise<BatchClient> {
  const base = baseUrl(shell.env);
  const authorization = `Bearer ${await askKey(shell.env, options["keyFile"])}`;
  const send = (target: string, init: RequestInit, headers: Record<string, string> = {}) =>
    fetch(`${base}/v1${target}`, { ...init, headers: { authorization, ...headers }, redirect: "error" }).catch(
      (error: unknown) => {
        throw unreachable(base, error);
      },
    );
  return {
    async call(method, target, body) {
      const isForm = body instanceof FormData;
      const init = body === undefined ? { method } : { method, body: isForm ? body : JSON.stringify(body) };
      const response = await send(
        target,
        init,
        body === undefined || isForm ? {} : { "content-type": "application/json" },
      );
      return answerOf({ status: response.status, text: await response.text() }, base);
    },
    async content(target) {
      const response = await send(target, {});
      if (!response.ok) answerOf({ status: response.status, text: await response.text() }, base);
      return response;
    },
  };
}

/** Uploads the file, creates the batch, and follows it with --follow. */
export async function runBatchCreate(invocation: Invocation): Promise<number> {
  const { args, options } = invocation;
  const file = String(args[0]);
  const client = await batchClient(invocation);
  const form = new FormData();
  form.append("purpose", "batch");
  // Read as it is sent, whatever its size.
  const content = await openAsBlob(file).catch(() => {
    throw new CliError(`Cannot read the file ${file}.`);
  });
  form.append("file", content, path.basename(file));
  const uploaded = await client.call("POST", "/files", form);
  const created = await client.call("POST", "/batches", {
    input_file_id: uploaded["id"],
    endpoint: options["endpoint"],
    completion_window: "24h",
  });
  return options["follow"] === true ? follow(client, invocation, created) : show(invocation, created);
}

export async function runBatchList(invocation: Invocation): Promise<number> {
  const { format, shell } = invocation;
  const answer = await (await batchClient(invocation)).call("GET", "/batches?limit=100");
  shell.stdout.write(`${format === "json" ? JSON.stringify(answer, null, 2) : asText(answer, LIST)}\n`);
  return 0;
}

export async function runBatchShow(invocation: Invocation): Promise<number> {
  const client = await batchClient(invocation);
  const batch = await client.call("GET", targetOf(invocation));
  return invocation.options["follow"] === true ? follow(client, invocation, batch) : show(invocation, batch);
}

export async function runBatchCancel(invocation: Invocation): Promise<number> {
  const client = await batchClient(invocation);
  return show(invocation, await client.call("POST", `${targetOf(invocation)}/cancel`));
}

/** Results as JSON Lines on standard output; with --errors those of the error file. */
export async function runBatchResults(invocation: Invocation): Promise<number> {
  const { options, shell } = invocation;
  const client = await batchClient(invocation);
  const batch = await client.call("GET", targetOf(invocation));
  if (!ENDED.has(batch["status"]))
    throw new CliError(
      `The batch is ${cell(batch["status"])}. Follow it with \`gateway batch show ${cell(batch["id"])} --follow\`.`,
    );
  const file = batch[options["errors"] === true ? "error_file_id" : "output_file_id"];
  if (typeof file !== "string") return 0;
  const { body } = await client.content(`/files/${file}/content`);
  for await (const piece of body ?? []) if (!shell.stdout.write(piece)) await once(shell.stdout, "drain");
  return 0;
}

const targetOf = ({ args }: Invocation) => `/batches/${encodeURIComponent(String(args[0]))}`;

function show({ format, shell }: Invocation, batch: JsonObject): number {
  shell.stdout.write(`${format === "json" ? JSON.stringify(batch, null, 2) : asText(batch, { is: "record" })}\n`);
  return batch["status"] === "failed" ? 1 : 0;
}

/** A live bar on a terminal, else a line for each change; the batch itself at the end. */
async function follow(client: BatchClient, invocation: Invocation, first: JsonObject): Promise<number> {
  const { stderr } = invocation.shell;
  let batch = first;
  for (let last = ""; ; ) {
    const line = progressLine(batch);
    if (line !== last) writeProgress(stderr, line);
    last = line;
    if (ENDED.has(batch["status"])) break;
    await sleep(POLL_MS);
    batch = await client.call("GET", `/batches/${cell(batch["id"])}`);
  }
  if (stderr.isTTY === true) stderr.write("\n");
  return show(invocation, batch);
}

function writeProgress(stderr: Output, line: string): void {
  stderr.write(stderr.isTTY === true ? `\r\u001b[K${line}` : `${line}\n`);
}

function progressLine({ status, svc, request_counts: counts }: JsonObject): string {
  const service = isJsonObject(svc) ? svc : {};
  const requests = isJsonObject(service["requests"]) ? service["requests"] : {};
  const [ended, total] = [Number(requests["ended"] ?? 0), Number(requests["total"] ?? 0)];
  const filled = total === 0 ? 0 : Math.floor((BAR_CHARS * ended) / total);
  const failed = isJsonObject(counts) ? Number(counts["failed"]) : 0;
  const paused = isJsonObject(service["paused"]) ? `, waits: ${cell(service["paused"]["reason"])}` : "";
  const eta =
    typeof service["eta_seconds"] === "number" ? `, ${formatDuration(service["eta_seconds"] * 1000)} left` : "";
  return `[${"#".repeat(filled)}${"-".repeat(BAR_CHARS - filled)}] ${ended}/${total} ${cell(status)}, ${failed} failed, ${cell(service["cost"])} ${cell(service["currency"])}${eta}${paused}`;
}
