import { type Kysely, type RawBuilder, sql } from "kysely";
import type { LogFilter, ShapeFilter } from "../../../domain/record/record.ts";
import type { PlanHints } from "./engine.ts";
import { newestOf, type PageCursor } from "./keyset-page.ts";
import type { Database } from "./schema.ts";

/** The newest requests are scanned first: common matches are among them. */
const RECENT_ROWS = 4000;

/** Each further scan covers this many times more rows. */
const GROWTH_FACTOR = 8;

/** Above this, shapes are not looked up individually. */
const SHAPES_MAX = 4000;

/** Marks a shape without a request. */
const NO_REQUEST_MS = -1;

/** Shapes that are merged by one `union all`. */
const UNION_ARMS_MAX = 64;

type QuerySpan = { readonly workspaceId: string; readonly fromMs: number; readonly before: PageCursor };

/** Where requests are read from. */
export type LogSource = { readonly reads: Kysely<Database>; readonly hints: PlanHints };

/** Has the requests of each shape in order of time. */
const BY_SHAPE = "request_records_by_shape";

const END_CURSOR: PageCursor = { atMs: Number.MAX_SAFE_INTEGER, id: "" };

/**
 * The next requests of a list, newest first. Matches that are not among the newest rows are found by shape: an index has the
 * requests of each shape in order, so any combination of filters reads little more than it returns.
 */
export async function findRequests(
  source: LogSource,
  workspaceId: string,
  filter: LogFilter,
  cursor: PageCursor | null,
  count: number,
): Promise<PageCursor[]> {
  const { sinceMs = 0, untilMs, ...shapeFilter } = filter;
  const until = untilMs === undefined ? END_CURSOR : { atMs: untilMs, id: "" };
  const before = cursor === null || until.atMs <= cursor.atMs ? until : cursor;
  const span = { workspaceId, fromMs: sinceMs, before };
  const { reads } = source;
  if (Object.values(shapeFilter).every((value) => value === undefined)) return newestFirst(reads, span, count);
  const recent = await filterNewest(reads, span, shapeFilter, RECENT_ROWS, count);
  const lastSeen = recent.length < count ? await lastOfNewest(reads, span, RECENT_ROWS) : undefined;
  if (lastSeen === undefined) return recent;
  return [...recent, ...(await findOlder(source, { ...span, before: lastSeen }, shapeFilter, count - recent.length))];
}

/** Rare matches, beyond the newest rows. */
async function findOlder(
  source: LogSource,
  span: QuerySpan,
  filter: ShapeFilter,
  count: number,
): Promise<PageCursor[]> {
  const shapes = await source.reads
    .selectFrom("request_shapes")
    .select("id")
    .where(shapeCondition(span.workspaceId, filter))
    .limit(SHAPES_MAX + 1)
    .execute();
  const shapeIds = shapes.map(({ id }) => id);
  if (shapeIds.length > SHAPES_MAX) return scanBackwards(source.reads, span, filter, count);
  if (shapeIds.length <= UNION_ARMS_MAX) return mergeShapes(source, span, shapeIds, count);
  return mergeNewestShapes(source, span, filter, count);
}

/** Too many shapes match: scans all rows in growing steps. */
async function scanBackwards(
  db: Kysely<Database>,
  span: QuerySpan,
  filter: ShapeFilter,
  count: number,
): Promise<PageCursor[]> {
  const found: PageCursor[] = [];
  let { before } = span;
  for (let rows = RECENT_ROWS * GROWTH_FACTOR; ; rows *= GROWTH_FACTOR) {
    const partSpan = { ...span, before };
    found.push(...(await filterNewest(db, partSpan, filter, rows, count - found.length)));
    const lastSeen = found.length < count ? await lastOfNewest(db, partSpan, rows) : undefined;
    if (lastSeen === undefined) return found;
    before = lastSeen;
  }
}

function byTime(db: Kysely<Database>, { workspaceId, fromMs, before }: QuerySpan) {
  return (
    db
      .selectFrom("request_records")
      .where("workspace_id", "=", workspaceId)
      .where("created_at_ms", ">=", fromMs)
      // Redundant to the row comparison, but partition pruning only understands this form.
      .where("created_at_ms", "<=", before.atMs)
      .where(({ eb, refTuple, tuple }) => eb(refTuple("created_at_ms", "id"), "<", tuple(before.atMs, before.id)))
      .orderBy("created_at_ms", "desc")
      .orderBy("id", "desc")
  );
}

async function newestFirst(db: Kysely<Database>, span: QuerySpan, count: number): Promise<PageCursor[]> {
  const rows = await byTime(db, span).select(["created_at_ms", "id"]).limit(count).execute();
  return rows.map(toCursor);
}

/**
 * Matches among the newest `rowsMax` requests. The inner limit fixes the access path: without statistics an engine would start
 * with the shapes and sort all their requests.
 */
async function filterNewest(
  db: Kysely<Database>,
  span: QuerySpan,
  filter: ShapeFilter,
  rowsMax: number,
  count: number,
): Promise<PageCursor[]> {
  const newest = byTime(db, span).select(["created_at_ms", "id", "shape"]).limit(rowsMax);
  const rows = await db
    .selectFrom(newest.as("newest"))
    .select(["newest.created_at_ms", "newest.id"])
    .where("newest.shape", "in", (eb) =>
      eb.selectFrom("request_shapes").select("request_shapes.id").where(shapeCondition(span.workspaceId, filter)),
    )
    .orderBy("newest.created_at_ms", "desc")
    .orderBy("newest.id", "desc")
    .limit(count)
    .execute();
  return rows.map(toCursor);
}

/** The last of the newest `rowsMax` requests; undefined when there are no more rows. */
async function lastOfNewest(db: Kysely<Database>, span: QuerySpan, rowsMax: number): Promise<PageCursor | undefined> {
  const rows = await byTime(db, span)
    .select(["created_at_ms", "id"])
    .offset(rowsMax - 1)
    .limit(2)
    .execute();
  const [last, next] = rows.map(toCursor);
  return next === undefined ? undefined : last;
}

/** Requests of these shapes, merged by time. */
async function mergeShapes(
  source: LogSource,
  span: QuerySpan,
  shapes: readonly number[],
  count: number,
): Promise<PageCursor[]> {
  if (shapes.length === 0) return [];
  if (source.hints.ranges === "lateral") return mergeLaterally(source, span, shapes, count);
  const arms = shapes.map((shape) => sql`select created_at_ms, id ${ofShape(source, span, sql`${shape}`)}`);
  const { rows } = await newestOf<PageRow>(source.hints, arms, count).execute(source.reads);
  return rows.map(toCursor);
}

async function mergeLaterally(
  source: LogSource,
  span: QuerySpan,
  shapes: readonly number[],
  count: number,
): Promise<PageCursor[]> {
  const newestFirst = sql`order by created_at_ms desc, id desc limit ${count}`;
  const { rows } = await sql<PageRow>`
    select newest.created_at_ms, newest.id from (values ${sql.join(shapes.map((shape) => sql`(${sql.lit(shape)})`))}) as shapes (shape)
    cross join lateral (
      select created_at_ms, id ${ofShape(source, span, sql.ref("shapes.shape"))} ${newestFirst}
    ) as newest ${newestFirst}`.execute(source.reads);
  return rows.map(toCursor);
}

function ofShape({ hints }: LogSource, { workspaceId, fromMs, before }: QuerySpan, shape: RawBuilder<unknown>) {
  return sql`from request_records ${hints.indexedBy(BY_SHAPE)}
    where request_records.workspace_id = ${workspaceId} and request_records.shape = ${shape}
      and created_at_ms >= ${fromMs} and created_at_ms <= ${before.atMs}
      and (created_at_ms, request_records.id) < (${before.atMs}, ${before.id})`;
}

/** Merges the shapes with the newest requests first; the others follow when these are exhausted. */
async function mergeNewestShapes(
  source: LogSource,
  span: QuerySpan,
  filter: ShapeFilter,
  count: number,
): Promise<PageCursor[]> {
  const found: PageCursor[] = [];
  let { before } = span;
  for (;;) {
    const heads = await newestByShape(source, { ...span, before }, filter);
    const arms = heads.slice(0, UNION_ARMS_MAX);
    // No other shape has a request newer than this.
    const floorMs = heads[UNION_ARMS_MAX]?.head_ms;
    const newestMs = heads[0]?.head_ms;
    if (newestMs === undefined) return found;
    const rest = count - found.length;
    // More shapes than arms share the newest time, so none can go first.
    if (floorMs === newestMs)
      return [...found, ...(await scanBackwards(source.reads, { ...span, before }, filter, rest))];
    const fromMs = floorMs === undefined ? span.fromMs : floorMs + 1;
    const shapeIds = arms.map(({ shape }) => shape);
    found.push(...(await mergeShapes(source, { ...span, fromMs, before }, shapeIds, rest)));
    if (floorMs === undefined || found.length >= count) return found;
    before = { atMs: floorMs + 1, id: "" };
  }
}

/** Shapes by the time of their newest request. */
async function newestByShape(source: LogSource, span: QuerySpan, filter: ShapeFilter) {
  const newest = sql`select created_at_ms ${ofShape(source, span, sql.ref("request_shapes.id"))}
    order by created_at_ms desc, request_records.id desc limit 1`;
  const heads = source.reads
    .selectFrom("request_shapes")
    .where(shapeCondition(span.workspaceId, filter))
    .select("request_shapes.id as shape")
    .select(sql<number>`coalesce((${newest}), ${NO_REQUEST_MS})`.as("head_ms"));
  const rows = await source.reads
    .selectFrom(heads.as("heads"))
    .select(["shape", "head_ms"])
    .orderBy("head_ms", "desc")
    .limit(UNION_ARMS_MAX + 1)
    .execute();
  // Filtered here, because a SQL condition would evaluate the subquery twice.
  return rows.filter(({ head_ms }) => head_ms !== NO_REQUEST_MS);
}

/** A filter as a condition on shapes. */
export function shapeCondition(workspaceId: string, filter: ShapeFilter) {
  const { keyId, memberId, model, provider, app, environment, status, statusClass, surface, dataClass } = filter;
  const conditions = [sql<boolean>`request_shapes.workspace_id = ${workspaceId}`];
  if (keyId !== undefined) conditions.push(sql`request_shapes.key_id = ${keyId}`);
  if (memberId !== undefined) conditions.push(sql`request_shapes.member_id = ${memberId}`);
  // Matches the served or the requested model, because `auto` is never the served one.
  if (model !== undefined)
    conditions.push(sql`(request_shapes.model = ${model} or request_shapes.model_requested = ${model})`);
  if (provider !== undefined) conditions.push(sql`request_shapes.provider = ${provider}`);
  if (app !== undefined) conditions.push(sql`request_shapes.app = ${app}`);
  if (environment !== undefined) conditions.push(sql`request_shapes.environment = ${environment}`);
  if (status !== undefined) conditions.push(sql`request_shapes.status = ${status}`);
  if (statusClass !== undefined)
    conditions.push(
      sql`request_shapes.status >= ${statusClass * 100} and request_shapes.status < ${statusClass * 100 + 100}`,
    );
  if (surface !== undefined) conditions.push(sql`request_shapes.surface = ${surface}`);
  if (dataClass !== undefined) conditions.push(hasDataClass(dataClass));
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

/** Names of classes have no comma and none of the signs of `like`. */
function hasDataClass(name: string) {
  return sql<boolean>`(',' || request_shapes.data_classes || ',') like ${`%,${name},%`}`;
}

type PageRow = { readonly created_at_ms: number; readonly id: string };

function toCursor(row: PageRow): PageCursor {
  return { atMs: row.created_at_ms, id: row.id };
}
