import { sha256Hex } from "../../kit/secret.ts";
import type { BookedFields } from "./ingest-fields.ts";
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

function shapeOf(record: BookedFields): RequestShape {
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
export class ShapeNumbers {
  /** Those that are known to be stored, by everything that makes them. */
  readonly #known = new Map<string, number>();

  /** The number of the record's shape; `keep` is called for one that may not be stored yet. */
  of(record: BookedFields, keep: (number: number, shape: RequestShape) => void): number {
    const text = textOf(record);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const number = Number.parseInt(sha256Hex(text).slice(0, ID_HEX_DIGITS), 16);
    keep(number, shapeOf(record));
    if (this.#known.size >= SHAPES_MAX) this.#known.clear();
    this.#known.set(text, number);
    return number;
  }

  /** What was to be kept was not. */
  forget(): void {
    this.#known.clear();
  }
}

/** The model that was asked for comes last: it alone may have any character in it. */
function textOf(record: BookedFields): string {
  const { workspaceId, keyId, memberId, environment, app, model, provider, status, surface, modelRequested } = record;
  return `${workspaceId}\n${keyId}\n${memberId ?? ""}\n${environment}\n${status}\n${surface}\n${model ?? ""}\n${provider ?? ""}\n${app ?? ""}\n${modelRequested ?? ""}`;
}
