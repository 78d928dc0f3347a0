import { isNewerModel } from "../../domain/catalogue/model-names.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { KnownModel } from "./client-kind.ts";

type RankedModel = {
  readonly model: KnownModel;
  readonly family: string;
  readonly releaseDate: string | null;
  /** Null: not measured. */
  readonly quality: number | null;
};

/**
 * Best first, simulated models last. A model without a score counts as its best older relative of the same family, and ranks
 * above it: scores are published months after a release.
 */
export function rankModels(rows: readonly JsonObject[]): KnownModel[] {
  const ranked = rows.map(readRow);
  const rank = ranked.map((one) => ({ ...one, expected: expectedQuality(one, ranked) }));
  return rank
    .sort(
      (a, b) =>
        Number(a.model.isSandbox) - Number(b.model.isSandbox) ||
        b.expected - a.expected ||
        Number(a.quality !== null) - Number(b.quality !== null) ||
        compareAge(a, b) ||
        (a.model.id < b.model.id ? -1 : 1),
    )
    .map(({ model }) => model);
}

function expectedQuality(one: RankedModel, all: readonly RankedModel[]): number {
  if (one.quality !== null) return one.quality;
  const older = all.filter((other) => other.family === one.family && isNewer(one, other));
  return Math.max(0, ...older.map(({ quality }) => quality ?? 0));
}

function isNewer(one: RankedModel, other: RankedModel): boolean {
  return isNewerModel(
    { id: one.model.id, releaseDate: one.releaseDate },
    { id: other.model.id, releaseDate: other.releaseDate },
  );
}

/** Newer first. */
function compareAge(a: RankedModel, b: RankedModel): number {
  const [dateA, dateB] = [a.releaseDate ?? "", b.releaseDate ?? ""];
  if (dateA !== dateB) return dateA > dateB ? -1 : 1;
  if (a.family !== b.family) return 0;
  return Number(isNewer(b, a)) - Number(isNewer(a, b));
}

/** A row of GET /v1/models. */
function readRow(row: JsonObject): RankedModel {
  const numberOrNull = (value: unknown) => (typeof value === "number" ? value : null);
  const capabilities = Array.isArray(row["svc_capabilities"]) ? row["svc_capabilities"] : [];
  const created = numberOrNull(row["created"]) ?? 0;
  return {
    model: {
      id: String(row["id"]),
      name: String(row["display_name"] ?? row["id"]),
      contextTokens: numberOrNull(row["context_length"]),
      outputTokens: numberOrNull(row["max_output_tokens"]),
      isSandbox: row["svc_sandbox"] === true,
      hasReasoning: capabilities.includes("reasoning"),
      readsImages: capabilities.includes("image_input") || capabilities.includes("vision"),
    },
    family: String(row["svc_family"]),
    releaseDate: created === 0 ? null : new Date(created * 1000).toISOString().slice(0, 10),
    quality: numberOrNull(row["svc_quality"]),
  };
}
