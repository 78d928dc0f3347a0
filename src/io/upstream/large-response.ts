import type { SlicedWork } from "../../kit/event-loop-turns.ts";
import type { BuiltJsonDocument, JsonDocument } from "../../kit/json-document.ts";
import { buildDocumentInSlices } from "../../kit/json-sliced-document.ts";
import { type DocumentShape, JsonStructureScanner } from "../../kit/json-structure.ts";
import { parseLosslessJson } from "../../kit/lossless-json.ts";
import type { ResponseGuard } from "./response-guard.ts";
import type { MemoryLease, MemoryShortage } from "./response-memory.ts";

/** Why a response was rejected before it was decoded. */
export type ResponseRejection =
  | { readonly is: "shape"; readonly why: string }
  | ({ readonly is: "memory" } & MemoryShortage);

/** How the objects of a response are built. */
export type DocumentForm = DocumentShape & {
  /** Numbers keep their digits. */
  readonly numbers?: "lossless" | undefined;
};

/** Bytes that are decoded and scanned at once. */
const PIECE_BYTES = 4 * 1024;
/** Bytes that may wait for their turn before the upstream is paused. */
const WAITING_BYTES_MAX = 512 * 1024;
/** Estimate of the memory of one member that is built. */
const MEMBER_BYTES = 100;

/** V8 keeps a text with such a character in two bytes per character. */
const WIDE = /[^\0-\xff]/;

type LargeResponseDeps = {
  readonly guard: ResponseGuard;
  readonly workspaceId: string;
  readonly lease: MemoryLease;
  readonly form: DocumentForm;
  /** Called at most once, as soon as a limit is exceeded. */
  readonly onRejected: (rejection: ResponseRejection) => void;
  /** Called after `push` returned `pause`. */
  readonly onDrained: () => void;
};

/**
 * A long response while it arrives: decoded and scanned piece by piece within the shared event-loop turns, and rejected at
 * the first limit that it exceeds, before any object is built.
 */
export class LargeResponse {
  readonly #deps: LargeResponseDeps;
  readonly #work: SlicedWork;
  readonly #scanner: JsonStructureScanner;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  readonly #pieces: string[] = [];
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isPaused = false;
  #isStopped = false;
  readonly #size = new TextSize();
  #scanning: Promise<void> | undefined;

  constructor(deps: LargeResponseDeps) {
    this.#deps = deps;
    this.#work = deps.guard.turns.begin(deps.workspaceId);
    this.#scanner = new JsonStructureScanner(deps.guard.json, deps.form);
  }

  push(chunk: Buffer): "more" | "pause" {
    if (this.#isStopped) return "more";
    const full = this.#deps.lease.grow(chunk.length);
    if (full !== undefined) {
      this.#reject({ is: "memory", ...full });
      return "more";
    }
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    this.#scanning ??= this.#scanWaiting();
    if (this.#waitingBytes < WAITING_BYTES_MAX) return "more";
    this.#isPaused = true;
    return "pause";
  }

  /** The response ended early, or is not needed any more. */
  stop(): void {
    this.#isStopped = true;
    this.#waiting.length = 0;
    this.#pieces.length = 0;
    this.#deps.lease.release();
  }

  /** Builds the whole document; undefined if it was rejected or stopped. Ends at the start of an event-loop turn. */
  async finish(): Promise<JsonDocument | undefined> {
    await this.#scanning;
    if (this.#isStopped) return undefined;
    const problem = this.#endOfText() ?? this.#scanner.finish();
    if (problem !== undefined) {
      this.#reject({ is: "shape", why: problem });
      return undefined;
    }
    const text = this.#pieces.splice(0).join("");
    const document = await buildDocument(text, this.#scanner, this.#work, this.#deps.form);
    await startReading(this.#work, this.#scanner);
    return this.#isStopped ? undefined : document;
  }

  #endOfText(): string | undefined {
    try {
      const rest = this.#decoder.decode();
      this.#pieces.push(rest);
      return this.#scanner.scan(rest);
    } catch {
      return NOT_UTF8;
    }
  }

  async #scanWaiting(): Promise<void> {
    for (let chunk = this.#waiting.shift(); chunk !== undefined; chunk = this.#waiting.shift()) {
      for (let at = 0; at < chunk.length && !this.#isStopped; at += PIECE_BYTES) {
        const piece = chunk.subarray(at, at + PIECE_BYTES);
        if (!this.#work.fits(piece.length, piece.length)) await this.#work.next();
        if (!this.#isStopped) this.#scanPiece(piece);
      }
      this.#waitingBytes -= chunk.length;
      if (this.#isPaused && this.#waitingBytes < WAITING_BYTES_MAX && !this.#isStopped) {
        this.#isPaused = false;
        this.#deps.onDrained();
      }
    }
    this.#work.end();
    this.#scanning = undefined;
  }

  #scanPiece(piece: Buffer): void {
    const scanner = this.#scanner;
    const before = scanner.values;
    let problem: string | undefined;
    let more = 0;
    try {
      const decoded = this.#decoder.decode(piece, { stream: true });
      // Some servers send spaces until the response is ready: a whole piece of them becomes one.
      const text = scanner.isInString || !isBlank(decoded) ? decoded : " ";
      this.#pieces.push(text);
      more = this.#size.add(text) - piece.length;
      problem = scanner.scan(text);
    } catch {
      problem = NOT_UTF8;
    }
    this.#work.add(piece.length, scanner.values - before);
    if (problem !== undefined) {
      this.#reject({ is: "shape", why: problem });
      return;
    }
    const full = resize(this.#deps.lease, more + this.#size.addMembers(scanner.members));
    if (full !== undefined) this.#reject({ is: "memory", ...full });
  }

  #reject(rejection: ResponseRejection): void {
    if (this.#isStopped) return;
    this.stop();
    this.#deps.onRejected(rejection);
  }
}

/** Memory of a text that is read in pieces, and of the members that are built from it. */
class TextSize {
  #chars = 0;
  #isWide = false;
  #members = 0;

  /** Returns the additional bytes: one wide character doubles the whole text. */
  add(piece: string): number {
    const before = this.#bytes;
    this.#chars += piece.length;
    this.#isWide ||= WIDE.test(piece);
    return this.#bytes - before;
  }

  addMembers(members: number): number {
    const more = (members - this.#members) * MEMBER_BYTES;
    this.#members = members;
    return more;
  }

  get #bytes(): number {
    return this.#isWide ? 2 * this.#chars : this.#chars;
  }
}

function resize(lease: MemoryLease, bytes: number): MemoryShortage | undefined {
  if (bytes > 0) return lease.grow(bytes);
  lease.shrink(-bytes);
  return undefined;
}

/** The document of a long text that is already whole, such as one stream event. */
export async function readDocumentInSlices(
  text: string,
  { guard, workspaceId, lease, form }: Pick<LargeResponseDeps, "guard" | "workspaceId" | "lease" | "form">,
): Promise<JsonDocument | ResponseRejection> {
  const work = guard.turns.begin(workspaceId);
  const scanner = new JsonStructureScanner(guard.json, form);
  const size = new TextSize();
  let full: MemoryShortage | undefined;
  for (let at = 0; at < text.length && full === undefined; at += PIECE_BYTES) {
    const piece = text.slice(at, at + PIECE_BYTES);
    if (!work.fits(piece.length, piece.length)) await work.next();
    const before = scanner.values;
    const problem = scanner.scan(piece);
    work.add(piece.length, scanner.values - before);
    if (problem !== undefined) return { is: "shape", why: problem };
    full = resize(lease, size.add(piece) + size.addMembers(scanner.members));
  }
  if (full !== undefined) return { is: "memory", ...full };
  const problem = scanner.finish();
  if (problem !== undefined) return { is: "shape", why: problem };
  const document = await buildDocument(text, scanner, work, form);
  await startReading(work, scanner);
  return document;
}

/** The reader of the reply walks through its parts in this turn. */
async function startReading(work: SlicedWork, { readParts }: JsonStructureScanner): Promise<void> {
  await work.next();
  work.add(0, readParts);
  work.end();
}

/** The document of a scanned text. */
function buildDocument(
  text: string,
  scanner: JsonStructureScanner,
  work: SlicedWork,
  { numbers }: DocumentForm,
): Promise<BuiltJsonDocument> {
  return buildDocumentInSlices(text, scanner, work, numbers === "lossless" ? parseLosslessJson : undefined);
}

const isBlank = (text: string) => text.trimStart() === "";
const NOT_UTF8 = "not valid UTF-8";
