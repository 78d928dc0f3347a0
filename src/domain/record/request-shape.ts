import { sha256Hex } from "../../kit/secret.ts";
import type { IngestFields } from "./ingest-fields.ts";
import type { Surface } from "./record.ts";

/**
 * What requests are filtered and added up by. A workspace has millions of requests and few shapes of them, so a filter
 * is asked of the shapes, whatever it combines. What is not known is an empty text.
 */
export type RequestShape = {
  readonly keyId: string;
  readonly memberId: string;
  readonly environment: "live" | "test";
  readonly app: string;
  readonly modelRequested: string;
  readonly model: string;
  readonly provider: string;
  readonly status: number;
  readonly surface: Surface;
};

function shapeOf(record: IngestFields): RequestShape {
  return {
    keyId: record.keyId,
    memberId: record.memberId ?? "",
    environment: record.environment,
    app: record.app ?? "",
    modelRequested: record.modelRequested ?? "",
    model: record.model ?? "",
    provider: record.provider ?? "",
    status: record.status,
    surface: record.surface,
  };
}

/** 52 bits: exact as a number, and within one workspace no two shapes meet. */
const ID_HEX_DIGITS = 13;

const SHAPES_MAX = 50_000;

/** Numbers of shapes, which follow from the shapes alone: every process that writes comes to the same ones. */
export class ShapeIds {
  /** Those that are known to be stored, by everything that makes them. */
  readonly #stored = new Map<string, number>();

  /** The number of the record's shape; `keep` is called for one that may not be stored yet. */
  idOf(record: IngestFields, store: (number: number, shape: RequestShape) => void): number {
    const text = shapeKeyOf(record);
    const known = this.#stored.get(text);
    if (known !== undefined) return known;
    const number = Number.parseInt(sha256Hex(text).slice(0, ID_HEX_DIGITS), 16);
    store(number, shapeOf(record));
    if (this.#stored.size >= SHAPES_MAX) this.#stored.clear();
    this.#stored.set(text, number);
    return number;
  }

  /** What was to be kept was not. */
  clear(): void {
    this.#stored.clear();
  }
}

/** The model that was asked for comes last: it alone may have any character in it. */
function shapeKeyOf(record: IngestFields): string {
  const { workspaceId, keyId, memberId, environment, app, model, provider, status, surface, modelRequested } = record;
  return `${workspaceId}\n${keyId}\n${memberId ?? ""}\n${environment}\n${status}\n${surface}\n${model ?? ""}\n${provider ?? ""}\n${app ?? ""}\n${modelRequested ?? ""}`;
}
