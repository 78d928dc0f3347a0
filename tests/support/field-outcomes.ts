import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";
import { NO_OP_FIELDS, type NoOpField, type WireFormatName } from "../../src/language/dialects/no-op-fields.ts";
import type { FieldCase } from "./field-cases.ts";
import type { Called, Json } from "./gateway.ts";
import { openScene, type Provider, type Scene } from "./scene.ts";
import type { Script } from "./upstream.ts";

/** An upstream adapter in the matrix: an endpoint that is served by it. */
export type FieldColumn = {
  readonly adapter: string;
  readonly format: WireFormatName;
  readonly provider: Provider;
  readonly model: string;
  readonly whole: Script;
  readonly streamed?: Script;
  readonly env?: () => Record<string, string>;
};

/** How a field is handled at an endpoint; `silent` is a violation. */
export type Outcome = "carried" | "rejected" | "omitted" | "no-op" | "silent";

export type FieldResult = {
  readonly path: string;
  readonly adapter: string;
  readonly outcome: Outcome;
  /** For a violation. */
  readonly detail: string;
};

export type FieldSurface = {
  readonly name: keyof typeof NO_OP_FIELDS;
  readonly url: string | ((column: FieldColumn) => string);
  /** The format in which the caller's body is forwarded. */
  readonly ownFormat?: WireFormatName;
  /** The whole request around a case: model, context, and what the field at the path needs beside it. */
  complete(body: JsonObject, column: FieldColumn, path: string): JsonObject;
};

type Surface = FieldSurface & { readonly scene: Scene; readonly key: string };

/** One adapter of a surface, to which bodies are sent. */
export type FieldTarget = {
  readonly surface: keyof typeof NO_OP_FIELDS;
  readonly adapter: string;
  readonly format: WireFormatName;
  readonly ownFormat?: WireFormatName | undefined;
  /** The request around the fields under test. */
  complete(body: JsonObject, path: string): JsonObject;
  exchange(body: JsonObject): Promise<Exchange>;
};

export type Exchange = {
  readonly status: number;
  readonly param: string | undefined;
  readonly omitted: readonly string[];
  /** Everything that the provider received, and what the caller got where that is the same for equal requests. */
  readonly effect: string;
};

/** The results of all cases at all columns; each column has a gateway with its provider alone. */
export async function fieldMatrix(
  surface: FieldSurface,
  columns: readonly FieldColumn[],
  cases: readonly FieldCase[],
): Promise<FieldResult[]> {
  const results: FieldResult[] = [];
  for (const column of columns) {
    const scene = await openScene([column.provider], column.env?.());
    try {
      const { key } = await scene.gateway.tenant({ credit: "1000000" });
      scene
        .at(column.provider)
        .always((received) => (isStreamed(received) ? (column.streamed ?? column.whole) : column.whole));
      results.push(...(await fieldResults(targetOf({ ...surface, scene, key }, column), cases)));
    } finally {
      await scene.close();
    }
  }
  return results;
}

function isStreamed({ path, json }: { readonly path: string; readonly json: unknown }): boolean {
  return /stream/i.test(path) || (isJsonObject(json) && json["stream"] === true);
}

function targetOf(surface: Surface, column: FieldColumn): FieldTarget {
  const { adapter, format } = column;
  return {
    surface: surface.name,
    adapter,
    format,
    ownFormat: surface.ownFormat,
    complete: (body, path) => surface.complete(body, column, path),
    exchange: (body) => exchange(surface, column, JSON.stringify(body)),
  };
}

/** Sends each case with and without its field to one adapter and compares the effects. */
export async function fieldResults(target: FieldTarget, cases: readonly FieldCase[]): Promise<FieldResult[]> {
  const known = new Map<string, Exchange>();
  const ask = async (fields: JsonObject, path: string): Promise<Exchange> => {
    const body = target.complete(fields, path);
    const text = JSON.stringify(body);
    const found = known.get(text) ?? (await target.exchange(body));
    known.set(text, found);
    return found;
  };
  const results: FieldResult[] = [];
  for (const { path, sent, without } of cases) {
    const withField = await ask(sent, path);
    const plain = await ask(without, path);
    const outcome = outcomeOf(path, withField, plain) ?? (isNoOp(target, path, sent) ? "no-op" : "silent");
    const detail = outcome === "silent" ? `${JSON.stringify(sent)} → ${withField.status} ${withField.param ?? ""}` : "";
    results.push({ path, adapter: target.adapter, outcome, detail });
  }
  return results;
}

function outcomeOf(path: string, sent: Exchange, plain: Exchange): Outcome | undefined {
  // A stream that the script does not have was still requested.
  if (sent.status >= 500) return sent.effect === plain.effect ? undefined : "carried";
  if (sent.status !== 200) return isRejected(path, sent, plain) ? "rejected" : undefined;
  if (sent.omitted.some((one) => one === path || path.startsWith(`${one}.`) || path.startsWith(`${one}[`)))
    return "omitted";
  if (plain.status === 200 && sent.effect !== plain.effect) return "carried";
  // The request is valid only with this field.
  return plain.status === 200 ? undefined : "carried";
}

/** By the documented table. */
function isNoOp({ surface, format, ownFormat }: FieldTarget, path: string, sent: JsonObject): boolean {
  const rows: readonly NoOpField[] = NO_OP_FIELDS[surface];
  return rows.some(
    (row) =>
      (path === row.path || path.startsWith(`${row.path}.`)) &&
      (row.formats?.includes(format) ?? format !== ownFormat) &&
      (row.values === undefined || row.values.some((value) => isDeepStrictEqual(value, valueAt(sent, path)))),
  );
}

function valueAt(body: JsonObject, path: string): unknown {
  const keys = path.replaceAll("[]", ".0").split(".");
  return keys.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined),
    body,
  );
}

/** By its own name, or together with its surroundings, which are rejected without it as well. */
function isRejected(path: string, sent: Exchange, plain: Exchange): boolean {
  if (isAbout(sent.param, path)) return true;
  return (
    plain.status === sent.status && sent.param === plain.param && isAbout(sent.param?.replace(/\.[^.]*$/, ""), path)
  );
}

/** The error names the field, something inside it, or what contains it. */
function isAbout(param: string | undefined, path: string): boolean {
  if (param === undefined) return false;
  const named = param.replace(/\.\d+(?=\.|$)/g, "[]");
  const isInside = (inner: string, outer: string) =>
    inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
  return isInside(named, path) || isInside(path, named);
}

async function exchange(surface: Surface, column: FieldColumn, body: string): Promise<Exchange> {
  const upstream = surface.scene.at(column.provider);
  const before = upstream.requests.length;
  const url = typeof surface.url === "string" ? surface.url : surface.url(column);
  const called = await surface.scene.gateway.call(surface.key, url, { body });
  const received = upstream.requests
    .slice(before)
    .map(({ path, json, headers: sent }) => [path, json, sent["anthropic-beta"] ?? null]);
  return exchangeOf(called, JSON.stringify(received));
}

export function exchangeOf(
  { status, headers, body }: Pick<Called, "status" | "headers" | "body">,
  effect: string,
): Exchange {
  const error: Json = typeof body === "object" ? body?.error : undefined;
  const param = error?.param ?? error?.details?.[0]?.metadata?.param;
  const omitted = (headers.get("x-svc-omitted") ?? "").split(",").filter((one) => one !== "");
  return { status, param, omitted, effect };
}

export function figuresOf(results: readonly FieldResult[]): string {
  const fields = new Set(results.map(({ path }) => path)).size;
  const adapters = new Set(results.map(({ adapter }) => adapter)).size;
  const counts = Object.entries(Object.groupBy(results, ({ outcome }) => outcome)).map(
    ([outcome, list]) => `${list?.length ?? 0} ${outcome}`,
  );
  return `${fields} fields × ${adapters} adapters, ${results.length} cases: ${counts.join(", ")}`;
}

/** Every violation once, with an example. */
export function silentFields(results: readonly FieldResult[]): string[] {
  const silent = results.filter(({ outcome }) => outcome === "silent");
  return [...new Set(silent.map(({ path, adapter, detail }) => `${path} at ${adapter}: ${detail}`))];
}
