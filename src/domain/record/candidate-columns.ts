import { deflateRawSync, inflateRawSync } from "node:zlib";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { CandidateRecord } from "./record.ts";

/** Fewer candidates are stored as they are. */
export const COLUMNS_MIN = 8;

/** The last member of a record's text, so that it is found and replaced without parsing the text. */
const COLUMNS_MARK = ',"short":true,"columns":';
const PACKED_MARK = ',"short":true,"packed":"';
const RECORD_END = "}";
/** Shorter columns are not worth the work. */
const PACKED_BYTES_MIN = 1024;

/**
 * Many candidates as columns: each text once, and the parts of an endpoint's id and of a reason that follow from other values
 * left out. A third of the size, and the columns compress well.
 */
export type CandidateColumns = {
  readonly texts: readonly string[];
  /** Numbers of texts: the model, the provider, the level, and what is left of endpoint and reason. */
  readonly model: readonly number[];
  readonly provider: readonly number[];
  readonly level: readonly number[];
  readonly endpoint: readonly number[];
  readonly reason: readonly number[];
  /** Indices of candidates. */
  readonly excluded: readonly number[];
  readonly attested: readonly number[];
  readonly unscored: readonly number[];
  /** Null for a candidate without this score. */
  readonly scores: Readonly<Record<string, ScoreColumn | SteppedColumn>>;
  /** Scores that all candidates of a model share, by the order in which models appear. */
  readonly modelScores: Readonly<Record<string, ScoreColumn | SteppedColumn>>;
};

type ScoreColumn = readonly (number | null)[];

/** Candidates are in order, so neighbours are alike: the difference to the one before, in whole numbers of 1 / `by`. */
type SteppedColumn = { readonly by: number; readonly steps: ScoreColumn };

/** Scores have at most four decimals. */
const STEPS_PER_UNIT = [1, 10, 100, 10_000];

export function toColumns(candidates: readonly CandidateRecord[]): CandidateColumns {
  const numbers = new Map<string, number>();
  const numberOf = (text: string) => {
    const known = numbers.get(text);
    if (known !== undefined) return known;
    numbers.set(text, numbers.size);
    return numbers.size - 1;
  };
  const scores = new Map<string, (number | null)[]>();
  const model = candidates.map((candidate) => numberOf(candidate.model));
  const indicesOf = (has: (candidate: CandidateRecord) => boolean) =>
    candidates.flatMap((candidate, index) => (has(candidate) ? [index] : []));
  for (const [index, candidate] of candidates.entries())
    for (const name in candidate.scores) {
      const column = scores.get(name) ?? Array<number | null>(candidates.length).fill(null);
      scores.set(name, column);
      column[index] = candidate.scores[name] ?? null;
    }
  const rows: [string, ScoreColumn | SteppedColumn][] = [];
  const shared: [string, ScoreColumn | SteppedColumn][] = [];
  for (const [name, column] of scores) {
    const ofModels = valuesByModel(column, model);
    if (ofModels === undefined) rows.push([name, toSteps(column)]);
    else shared.push([name, toSteps(ofModels)]);
  }
  const columns = {
    model,
    provider: candidates.map(({ provider }) => numberOf(provider)),
    level: candidates.map(({ level }) => numberOf(level)),
    endpoint: candidates.map((candidate) => numberOf(shortEndpoint(candidate))),
    reason: candidates.map(({ reason }, index) => numberOf(shortReason(reason, index))),
    excluded: indicesOf(({ outcome }) => outcome === "excluded"),
    attested: indicesOf(({ attested }) => attested === true),
    unscored: indicesOf(({ scores: own }) => own === null),
    scores: Object.fromEntries(rows),
    modelScores: Object.fromEntries(shared),
  };
  return { texts: [...numbers.keys()], ...columns };
}

/** One value per model; undefined when candidates of a model differ. */
function valuesByModel(column: ScoreColumn, model: readonly number[]): ScoreColumn | undefined {
  const values = new Map<number, number | null>();
  for (const [index, number] of model.entries()) {
    const value = column[index] ?? null;
    const known = values.get(number);
    if (known !== undefined && known !== value) return undefined;
    values.set(number, value);
  }
  return [...values.values()];
}

/** The column itself when steps would not give the same numbers. */
function toSteps(column: ScoreColumn): ScoreColumn | SteppedColumn {
  for (const by of STEPS_PER_UNIT) {
    let last = 0;
    const steps = column.map((value) => {
      if (value === null) return null;
      const whole = Math.round(value * by);
      const step = whole - last;
      last = whole;
      return step;
    });
    const restored = fromSteps({ by, steps });
    if (column.every((value, index) => Object.is(value, restored[index]))) return { by, steps };
  }
  return column;
}

function fromSteps(column: ScoreColumn | SteppedColumn): ScoreColumn {
  if (!("by" in column)) return column;
  let whole = 0;
  return column.steps.map((step) => {
    if (step === null) return null;
    whole += step;
    return whole / column.by;
  });
}

/** The candidates of columns that this program wrote; nothing is validated here. */
function fromColumns(columns: CandidateColumns): JsonObject[] {
  const { texts } = columns;
  const [excluded, attested, unscored] = [columns.excluded, columns.attested, columns.unscored].map(
    (indices) => new Set(indices),
  );
  const placeOfModel = new Map([...new Set(columns.model)].map((number, place) => [number, place]));
  const shared = Object.entries(columns.modelScores).map(([name, column]): [string, ScoreColumn] => {
    const values = fromSteps(column);
    return [name, columns.model.map((number) => values[placeOfModel.get(number) ?? -1] ?? null)];
  });
  const own = Object.entries(columns.scores).map(([name, column]): [string, ScoreColumn] => [name, fromSteps(column)]);
  const scores = [...own, ...shared];
  return columns.model.map((number, index) => {
    const textAt = (column: readonly number[]) => texts[column[index] ?? -1] ?? "";
    const model = texts[number] ?? "";
    const provider = textAt(columns.provider);
    const known = scores.flatMap(([name, values]) => (values[index] == null ? [] : [[name, values[index]]]));
    return {
      endpoint: fullEndpoint(textAt(columns.endpoint), { model, provider }),
      model,
      provider,
      level: textAt(columns.level),
      ...(attested?.has(index) ? { attested: true } : {}),
      outcome: excluded?.has(index) ? "excluded" : "planned",
      reason: fullReason(textAt(columns.reason), index),
      scores: unscored?.has(index) ? null : Object.fromEntries(known),
    };
  });
}

type EndpointParts = Pick<CandidateRecord, "model" | "provider">;

/** Of `provider:region:model` the region; any other id in full after a mark. */
function shortEndpoint({ endpoint, provider, model }: CandidateRecord): string {
  const [start, end] = [`${provider}:`, `:${model}`];
  const isUsual = endpoint.length >= start.length + end.length && endpoint.startsWith(start) && endpoint.endsWith(end);
  return isUsual ? `:${endpoint.slice(start.length, endpoint.length - end.length)}` : `=${endpoint}`;
}

function fullEndpoint(short: string, { provider, model }: EndpointParts): string {
  return short.startsWith("=") ? short.slice(1) : `${provider}${short}:${model}`;
}

/** Most reasons are the rank. Its word is by its mark; earlier records have another word. */
const RANK_MARK = "~";
const RANK_WORDS: Readonly<Record<string, string>> = { [RANK_MARK]: "rank", "#": "choice" };

function shortReason(reason: string, index: number): string {
  const rank = rankAt(RANK_MARK, index);
  return reason.startsWith(rank) ? `${RANK_MARK}${reason.slice(rank.length)}` : `=${reason}`;
}

function fullReason(short: string, index: number): string {
  const mark = short.slice(0, 1);
  return mark === "=" ? short.slice(1) : `${rankAt(mark, index)}${short.slice(1)}`;
}

const rankAt = (mark: string, index: number) => `${RANK_WORDS[mark]} ${index + 1}`;

/** The text of a record with its columns compressed; a text without long columns is returned as it is. */
export function packColumns(text: Buffer): Buffer {
  if (text.length < PACKED_BYTES_MIN) return text;
  const at = text.lastIndexOf(COLUMNS_MARK);
  if (at < 0 || text.length - at < PACKED_BYTES_MIN) return text;
  const columns = text.subarray(at + COLUMNS_MARK.length, text.length - RECORD_END.length);
  return Buffer.concat([
    text.subarray(0, at),
    Buffer.from(`${PACKED_MARK}${deflateRawSync(columns).toString("base64")}"${RECORD_END}`),
  ]);
}

/** The candidates of a stored record that has them as columns; undefined: it has them as they are. */
export function storedCandidates({ columns, packed }: JsonObject): JsonObject[] | undefined {
  if (typeof packed === "string") return readColumns(inflateRawSync(Buffer.from(packed, "base64")).toString());
  return isJsonObject(columns) ? readColumns(JSON.stringify(columns)) : undefined;
}

function readColumns(json: string): JsonObject[] {
  // Written by this program; the record is validated as a whole.
  const columns: CandidateColumns = JSON.parse(json);
  return fromColumns(columns);
}
