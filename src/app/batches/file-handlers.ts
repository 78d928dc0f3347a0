import { type Fault, fault, invalidValue } from "../../contract/faults.ts";
import { CreateFileForm, ListFilesQuery } from "../../contract/schemas/files.ts";
import type { StoredFile } from "../../domain/batches/stored-file.ts";
import { maySeeRequestsOf, type Principal } from "../../domain/tenancy/key.ts";
import type { UploadedForm } from "../../io/uploads/multipart-form.ts";
import { buffered, type Exchange, type Handler, principalOf, type ResponseSink, streamed } from "../exchange.ts";
import { printable } from "../printable.ts";
import { decodeWith, readQuery } from "../request-input.ts";
import type { BatchesContext } from "./batches-context.ts";
import { checkBefore, checkRetention, checkStorage, storeLines } from "./store-lines.ts";

const SECOND_MS = 1000;

/** /v1/files. */
export function fileHandlers(context: BatchesContext): Record<string, Handler> {
  const handlers = openaiFiles(context);
  return Object.fromEntries(Object.entries(handlers).map(([id, handler]) => [id, withoutMessagesClients(handler)]));
}

/** The files API of the messages dialect has the same paths, and other objects. */
function withoutMessagesClients(handler: Handler): Handler {
  const check = ({ headers }: Exchange) => {
    if (headers["anthropic-version"] === undefined) return;
    throw fault("not_found", {
      message: "Files of the messages API are not stored: send them in the request, as base64 sources.",
    });
  };
  if (handler.kind === "buffered")
    return buffered(async (exchange) => {
      check(exchange);
      return handler.handle(exchange);
    });
  return streamed(async (exchange, sink) => {
    check(exchange);
    return handler.handle(exchange, sink);
  });
}

function openaiFiles(context: BatchesContext): Record<string, Handler> {
  return {
    createFile: buffered(async (exchange) => ({ status: 200, json: fileView(await upload(context, exchange)) })),
    listFiles: buffered(async (exchange) => {
      const principal = principalOf(exchange);
      const { purpose, limit, order, after } = readQuery(exchange, ListFilesQuery);
      const mayRead = readableBy(context, principal);
      const listing = { purpose, limit, order, after, mayRead };
      const { files, hasMore } = await context.files.list(principal.workspace.id, context.clock.nowMs(), listing);
      const data = files.map(fileView);
      const [first, last] = [data.at(0)?.id ?? null, data.at(-1)?.id ?? null];
      return { status: 200, json: { object: "list", data, first_id: first, last_id: last, has_more: hasMore } };
    }),
    getFile: buffered(async (exchange) => ({ status: 200, json: fileView(await find(context, exchange)) })),
    getFileContent: streamed(async (exchange, sink) =>
      sendContent(context, await find(context, exchange), exchange, sink),
    ),
    deleteFile: buffered(async (exchange) => {
      const { id, workspaceId } = await find(context, exchange);
      const batch = await context.files.batchInProgress(workspaceId, id);
      if (batch !== undefined)
        throw fault("conflict", {
          message: `The file is the input of the batch "${batch}", which is not over. Cancel the batch, or wait for its end.`,
        });
      if (!(await context.files.remove(workspaceId, id))) throw fileNotFoundFault(id);
      return { status: 200, json: { id, object: "file", deleted: true } };
    }),
  };
}

export function readableBy({ memberOf }: Pick<BatchesContext, "memberOf">, principal: Principal) {
  return (keyId: string) => maySeeRequestsOf(principal, memberOf(keyId));
}

async function upload(context: BatchesContext, exchange: Exchange): Promise<StoredFile> {
  const { workspace, key } = principalOf(exchange);
  // A refusal of the edge comes first.
  const source = await exchange.upload();
  await checkBefore(source, async () => {
    checkRetention(context, workspace.id, key.id);
    await checkStorage(context, workspace.id, 0);
  });
  const form = await context.uploads.read(source, exchange.headers["content-type"] ?? "", { file: 1 });
  try {
    return await storeUpload(context, exchange, form);
  } finally {
    form.close();
  }
}

async function storeUpload(context: BatchesContext, exchange: Exchange, form: UploadedForm): Promise<StoredFile> {
  const { workspace, key } = principalOf(exchange);
  const [file] = form.files;
  const fields = formFields(form.fields);
  const request = decodeWith(CreateFileForm, file === undefined ? fields : { ...fields, file: file.filename });
  if (file === undefined || file.bytes === 0) throw invalidValue("file", "is empty");
  if (file.bytes > context.limits.fileBytesMax)
    throw invalidValue(
      "file",
      `has ${file.bytes} bytes, and at most ${context.limits.fileBytesMax} are accepted (GATEWAY_FILE_MAX_BYTES)`,
    );
  await checkStorage(context, workspace.id, file.bytes);
  // The key may have been revoked while the file was sent.
  context.gateway.recheckKey(exchange);
  const { limits, ids, clock } = context;
  const createdAtMs = clock.nowMs();
  const keptMs = (request["expires_after[seconds]"] ?? limits.retentionMs / SECOND_MS) * SECOND_MS;
  return storeLines(
    context,
    {
      id: ids.next("file-"),
      workspaceId: workspace.id,
      keyId: key.id,
      createdAtMs,
      expiresAtMs: createdAtMs + keptMs,
      purpose: request.purpose,
      filename: file.filename,
      bytes: file.bytes,
      content: "chunks",
      batchId: null,
    },
    file.read(),
  );
}

function formFields(fields: UploadedForm["fields"]): Record<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of fields) {
    if (values.has(name)) throw invalidValue(name, "is sent twice");
    values.set(name, value);
  }
  return Object.fromEntries(values);
}

async function find(context: BatchesContext, exchange: Exchange): Promise<StoredFile> {
  const id = exchange.params["file_id"] ?? "";
  const principal = principalOf(exchange);
  const file = await findFile(context, principal, id);
  if (file === undefined) throw fileNotFoundFault(id);
  return file;
}

/** Undefined for a file that is unknown, expired, or not readable by the key. */
export async function findFile(
  context: BatchesContext,
  principal: Principal,
  id: string,
): Promise<StoredFile | undefined> {
  const file = await context.files.find(principal.workspace.id, id, context.clock.nowMs());
  const isInline = file?.content === "chunks" && file.batchId !== null;
  return file !== undefined && !isInline && readableBy(context, principal)(file.keyId) ? file : undefined;
}

export function fileNotFoundFault(id: string, param = "file_id"): Fault {
  return fault("not_found", {
    message: `There is no file with the id "${printable(id)}". It may have expired or been deleted.`,
    param,
  });
}

function fileView(file: StoredFile) {
  return {
    id: file.id,
    object: "file",
    bytes: file.bytes,
    created_at: Math.floor(file.createdAtMs / SECOND_MS),
    expires_at: Math.floor(file.expiresAtMs / SECOND_MS),
    filename: file.filename,
    purpose: file.purpose,
    status: "processed",
    status_details: null,
  };
}

async function sendContent(
  context: BatchesContext,
  file: StoredFile,
  exchange: Exchange,
  sink: ResponseSink,
): Promise<void> {
  const headers = {
    ...exchange.baseHeaders,
    "content-type": "application/octet-stream",
    "content-length": String(file.bytes),
    "x-content-type-options": "nosniff",
  };
  await sendPieces(sink, headers, fileContent(context, file));
}

/** The bytes of a file, a chunk or some results at a time. */
async function* fileContent({ files, batches }: BatchesContext, file: StoredFile): AsyncGenerator<Buffer | string> {
  if (file.content === "chunks" || file.batchId === null) {
    for (const number of await files.chunkNumbers(file.id)) {
      const chunk = await files.chunk(file, number);
      if (chunk === undefined) throw new Error(`${file.id} was deleted while it was read`);
      yield chunk;
    }
    return;
  }
  yield* resultTexts({ batches }, { id: file.batchId, workspaceId: file.workspaceId }, file.content);
}

/** The lines of results in order, many at a time. */
export async function* resultTexts(
  { batches }: Pick<BatchesContext, "batches">,
  batch: { readonly id: string; readonly workspaceId: string },
  content: StoredFile["content"] | "all",
): AsyncGenerator<string> {
  for (let after = -1; ; ) {
    const rows = await batches.results(batch, content, after);
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.line;
    yield rows.map(({ text }) => text).join("");
  }
}

/** Streams a body; one that fails in the middle is cut off, so that no client takes it for complete. */
export async function sendPieces(
  sink: ResponseSink,
  headers: Readonly<Record<string, string>>,
  pieces: AsyncIterable<Buffer | string>,
): Promise<void> {
  try {
    for await (const piece of pieces) {
      if (!sink.started) sink.start(200, headers);
      if (sink.disconnected) return;
      if (!sink.write(piece)) await sink.drained();
    }
  } catch (error) {
    if (!sink.started) throw error;
    sink.abort();
    return;
  }
  if (!sink.started) sink.start(200, headers);
  sink.end();
}
