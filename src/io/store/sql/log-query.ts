import { type Kysely, sql } from "kysely";
import type { LogFilter, ShapeFilter } from "../../../domain/record/record.ts";
import type { PageCursor } from "./keyset-page.ts";
import type { Database } from "./schema.ts";

/** The newest requests are looked through first: what is not rare is among them, whatever its shapes. */
const RECENT_ROWS = 4000;

/** How many times further each next look goes, where there are too many shapes to look for. */
const GROWTH_FACTOR = 8;

/** Shapes of which the newest request is looked for, one by one. */
const SHAPES_MAX = 4000;

/** Before every time: a shape without a request. */
const NO_REQUEST_MS = -1;

/** Shapes whose requests are read side by side. */
const UNION_ARMS_MAX = 64;

type QuerySpan = { readonly workspaceId: string; readonly fromMs: number; readonly before: PageCursor };

/** Behind every id and every time. */
const END_CURSOR: PageCursor = { atMs: Number.MAX_SAFE_INTEGER, id: "" };

/**
 * Where the next requests of a list are, newest first. What is not found among the newest is asked of the shapes; the
 * requests of each shape are in order in an index of their own, so that whatever is combined, hardly more is read than
 * what is found.
 */
export async function findRequests(
  db: Kysely<Database>,
  workspaceId: string,
  filter: LogFilter,
  cursor: PageCursor | null,
  count: number,
): Promise<PageCursor[]> {
  const { sinceMs = 0, untilMs, ...alike } = filter;
  const until = untilMs === undefined ? END_CURSOR : { atMs: untilMs, id: "" };
  const before = cursor === null || until.atMs <= cursor.atMs ? until : cursor;
  const span = { workspaceId, fromMs: sinceMs, before };
  if (Object.values(alike).every((value) => value === undefined)) return newestFirst(db, span, count);
  const near = await filterNewest(db, span, alike, RECENT_ROWS, count);
  const edge = near.length < count ? await lastOfNewest(db, span, RECENT_ROWS) : undefined;
  if (edge === undefined) return near;
  return [...near, ...(await findOlder(db, { ...span, before: edge }, alike, count - near.length))];
}

/** What is rare, behind the newest requests. */
async function findOlder(
  db: Kysely<Database>,
  span: QuerySpan,
  filter: ShapeFilter,
  count: number,
): Promise<PageCursor[]> {
  const shapes = await db
    .selectFrom("request_shapes")
    .select("id")
    .where(shapeCondition(span.workspaceId, filter))
    .limit(SHAPES_MAX + 1)
    .execute();
  const numbers = shapes.map(({ id }) => id);
  if (numbers.length > SHAPES_MAX) return scanBackwards(db, span, filter, count);
  if (numbers.length <= UNION_ARMS_MAX) return mergeShapes(db, span, numbers, count);
  return mergeNewestShapes(db, span, filter, count);
}

/** Where one is of no shape that could be looked for, all are looked through, ever more of them at once. */
async function scanBackwards(
  db: Kysely<Database>,
  span: QuerySpan,
  filter: ShapeFilter,
  count: number,
): Promise<PageCursor[]> {
  const found: PageCursor[] = [];
  let { before } = span;
  for (let rows = RECENT_ROWS * GROWTH_FACTOR; ; rows *= GROWTH_FACTOR) {
    const part = { ...span, before };
    found.push(...(await filterNewest(db, part, filter, rows, count - found.length)));
    const edge = found.length < count ? await lastOfNewest(db, part, rows) : undefined;
    if (edge === undefined) return found;
    before = edge;
  }
}

/** Requests by time. */
function byTime(db: Kysely<Database>, { workspaceId, fromMs, before }: QuerySpan) {
  return (
    db
      .selectFrom("request_records")
      .where("workspace_id", "=", workspaceId)
      .where("created_at_ms", ">=", fromMs)
      // Said once more by itself: a log in parts by time leaves out parts by this, and not by what follows.
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
 * Of so many of the newest requests those that are wanted. The limit inside says how they are read: an engine that
 * knows little of its tables would begin with the shapes, and sort everything that has one of them.
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

/** The last of so many of the newest requests; undefined where there are not more of them. */
async function lastOfNewest(db: Kysely<Database>, span: QuerySpan, rowsMax: number): Promise<PageCursor | undefined> {
  const rows = await byTime(db, span)
    .select(["created_at_ms", "id"])
    .offset(rowsMax - 1)
    .limit(2)
    .execute();
  const [last, next] = rows.map(toCursor);
  return next === undefined ? undefined : last;
}

/** The requests of these shapes, merged by time. */
async function mergeShapes(
  db: Kysely<Database>,
  span: QuerySpan,
  shapes: readonly number[],
  count: number,
): Promise<PageCursor[]> {
  const [first, ...others] = shapes.map((shape) => requestsOfShape(db, span, shape));
  if (first === undefined) return [];
  const rows = await others
    .reduce((all, arm) => all.unionAll(arm), first)
    .orderBy("created_at_ms", "desc")
    .orderBy("id", "desc")
    .limit(count)
    .execute();
  return rows.map(toCursor);
}

function requestsOfShape(db: Kysely<Database>, { workspaceId, fromMs, before }: QuerySpan, shape: number) {
  return db
    .selectFrom("request_records")
    .select(["created_at_ms", "id"])
    .where("workspace_id", "=", workspaceId)
    .where("shape", "=", shape)
    .where("created_at_ms", ">=", fromMs)
    .where("created_at_ms", "<=", before.atMs)
    .where(({ eb, refTuple, tuple }) => eb(refTuple("created_at_ms", "id"), "<", tuple(before.atMs, before.id)));
}

/** Of many shapes only those with the newest requests matter: the rest has its turn when these are passed. */
async function mergeNewestShapes(
  db: Kysely<Database>,
  span: QuerySpan,
  filter: ShapeFilter,
  count: number,
): Promise<PageCursor[]> {
  const found: PageCursor[] = [];
  let { before } = span;
  for (;;) {
    const heads = await newestByShape(db, { ...span, before }, filter);
    const arms = heads.slice(0, UNION_ARMS_MAX);
    // Down to here nothing of the others can lie between.
    const floorMs = heads[UNION_ARMS_MAX]?.head_ms;
    const newestMs = heads[0]?.head_ms;
    if (newestMs === undefined) return found;
    const rest = count - found.length;
    // Very many at the very same time: no shape is ahead of the others.
    if (floorMs === newestMs) return [...found, ...(await scanBackwards(db, { ...span, before }, filter, rest))];
    const fromMs = floorMs === undefined ? span.fromMs : floorMs + 1;
    const numbers = arms.map(({ shape }) => shape);
    found.push(...(await mergeShapes(db, { ...span, fromMs, before }, numbers, rest)));
    if (floorMs === undefined || found.length >= count) return found;
    before = { atMs: floorMs + 1, id: "" };
  }
}

/** The shapes with the newest requests, and when those were. */
async function newestByShape(db: Kysely<Database>, { workspaceId, fromMs, before }: QuerySpan, filter: ShapeFilter) {
  const heads = db
    .selectFrom("request_shapes")
    .where(shapeCondition(workspaceId, filter))
    .select("request_shapes.id as shape")
    .select(
      sql<number>`coalesce((select newest.created_at_ms from request_records as newest
        where newest.workspace_id = ${workspaceId} and newest.shape = request_shapes.id
          and newest.created_at_ms >= ${fromMs} and newest.created_at_ms <= ${before.atMs}
          and (newest.created_at_ms, newest.id) < (${before.atMs}, ${before.id})
        order by newest.created_at_ms desc, newest.id desc limit 1), ${NO_REQUEST_MS})`.as("head_ms"),
    );
  const rows = await db
    .selectFrom(heads.as("heads"))
    .select(["shape", "head_ms"])
    .orderBy("head_ms", "desc")
    .limit(UNION_ARMS_MAX + 1)
    .execute();
  // Left out here and not there, where the same would be looked up once more to be compared.
  return rows.filter(({ head_ms }) => head_ms !== NO_REQUEST_MS);
}

/** What a filter says of shapes of a workspace. */
export function shapeCondition(workspaceId: string, filter: ShapeFilter) {
  const { keyId, memberId, model, provider, app, environment, status, statusClass, surface } = filter;
  const conditions = [sql<boolean>`request_shapes.workspace_id = ${workspaceId}`];
  if (keyId !== undefined) conditions.push(sql`request_shapes.key_id = ${keyId}`);
  if (memberId !== undefined) conditions.push(sql`request_shapes.member_id = ${memberId}`);
  // By the model that served or the one that was asked for: `auto` is never the former.
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
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

function toCursor(row: { created_at_ms: number; id: string }): PageCursor {
  return { atMs: row.created_at_ms, id: row.id };
}
