import type { FaultCode } from "../../contract/faults.ts";
import { sha256Hex } from "../../kit/secret.ts";
import { type IngestFields, type RequestShape, shapeOf } from "./ingest-fields.ts";
import { CLIENTS } from "./known-clients.ts";
import type { RequestRecord, Surface } from "./record.ts";

/** 52 bits: exact as a number, and collisions within a workspace are negligible. */
const ID_HEX_DIGITS = 13;

const SHAPES_MAX = 50_000;

/** Shape ids are hashes, so every writing process derives the same ones. */
export class ShapeIds {
  /** Shapes that are known to be stored. */
  readonly #stored = new Map<string, number>();

  /** `store` is called for a shape that may not be stored yet. */
  idOf(record: IngestFields, store: (id: number, shape: RequestShape) => void): number {
    const text = shapeKeyOf(record);
    const known = this.#stored.get(text);
    if (known !== undefined) return known;
    const id = Number.parseInt(sha256Hex(text).slice(0, ID_HEX_DIGITS), 16);
    store(id, shapeOf(record));
    if (this.#stored.size >= SHAPES_MAX) this.#stored.clear();
    this.#stored.set(text, id);
    return id;
  }

  /** Called after a rollback: the shapes may not be stored after all. */
  clear(): void {
    this.#stored.clear();
  }
}

/** The requested model comes last, because only it may contain any character. */
function shapeKeyOf(record: IngestFields): string {
  const { workspaceId, keyId, memberId, environment, app, model, provider, status, surface, modelRequested } = record;
  const { endpoint, errorCode, router, routerVersion } = record;
  const evidence = `${endpoint ?? ""}\n${errorCode ?? ""}\n${router == null ? "" : (routerVersion ?? "?")}`;
  // Shapes without data classes keep the ids that they had before these were a dimension.
  const data = record.dataClasses === undefined ? "" : `${record.dataClasses}\n${record.dataAction ?? ""}\n`;
  return `${data}${workspaceId}\n${keyId}\n${memberId ?? ""}\n${environment}\n${status}\n${surface}\n${model ?? ""}\n${provider ?? ""}\n${record.level ?? ""}\n${record.countries?.join() ?? ""}\n${evidence}\n${app ?? ""}\n${modelRequested ?? ""}`;
}

/** Callers' other dialects are served by chat endpoints. */
export function isChatLike(surface: Surface): surface is "chat" | "messages" | "responses" | "gemini" {
  return surface === "chat" || surface === "messages" || surface === "responses" || surface === "gemini";
}

export const NODE_PROVIDER_PREFIX = "node-";

/** Catalogue providers may not use this prefix. */
export const isNodeProvider = (slug: string): boolean => slug.startsWith(NODE_PROVIDER_PREFIX);

/** Logged for a call that was answered and charged before under its `Idempotency-Key`. */
const IDEMPOTENT_REPLAY: FaultCode = "idempotent_replay";

export function isIdempotentReplay(errorCode: string | null): boolean {
  return errorCode === IDEMPOTENT_REPLAY;
}

/** An idempotent replay has an error code, but is not a failure. */
export function hasFailed({ status, errorCode }: Pick<RequestRecord, "status" | "errorCode">): boolean {
  return !isIdempotentReplay(errorCode) && (status >= 400 || errorCode !== null);
}

/** Clients put their name first, so a long user agent is not scanned completely. */
const SCANNED_CHARS = 200;

/** The application of a request without an explicit label; null when unknown. */
export function clientName(userAgent: string | undefined): string | null {
  if (userAgent === undefined) return null;
  const start = userAgent.slice(0, SCANNED_CHARS);
  return CLIENTS.find(([pattern]) => pattern.test(start))?.[1] ?? null;
}
