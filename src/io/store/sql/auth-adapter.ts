import type { BetterAuthOptions } from "better-auth";
import type { CleanedWhere, CustomAdapter, DBAdapter } from "better-auth/adapters";
import { type RawBuilder, sql } from "kysely";
import { isJsonObject } from "../../../kit/json.ts";
import { sha256Hex } from "../../../kit/secret.ts";
import type { Engine } from "./engine.ts";
import { StoreError } from "./store-error.ts";

/** The tables of the library of sign-in, by its names for them. */
export const AUTH_TABLES: Readonly<Record<string, string>> = {
  user: "people",
  session: "people_sessions",
  account: "people_accounts",
  verification: "people_verifications",
  twoFactor: "people_two_factors",
  passkey: "people_passkeys",
  deviceCode: "people_devices",
};

/** Columns that are kept as a digest: who reads the store can sign in with none of them. */
const DIGESTED_FIELDS: Readonly<Record<string, string>> = { session: "token", deviceCode: "deviceCode" };

/** The fields that say whom a row is about, where it is not `userId`. */
const PERSON_FIELDS: Readonly<Record<string, string>> = { user: "id", verification: "value" };
const MATCH_NONE = sql`1 = 0`;
const MATCH_ALL = sql`1 = 1`;
/** What is over is removed of all people at once. */
const EXPIRING_MODELS = ["verification"];
/** Nobody is too late to give up a session of their own. */
const UNFENCED_DELETE_MODELS = [...EXPIRING_MODELS, "session"];

/** A call must not write for whom an epoch has begun since it came. */
export type EpochFence = {
  /** The newest one when the call came that writes, or that it began itself. */
  epoch(): number;
  requiredCredential?(): RequiredCredential | undefined;
  /** Told of every second factor that is read, by its secret as it is kept. */
  onSecondFactorRead?(secret: string): void;
  /** Throws what the library answers with. */
  rejectStale(): never;
};

/** What a call goes by that can be taken away without an epoch, and the model of what it writes only while that is there. */
export type RequiredCredential = {
  readonly model: "passkey" | "session";
  readonly field: string;
  readonly value: string;
  readonly writes: string;
};

type AuthEngine = Pick<Engine, "db" | "held">;

export type AuthAdapterFactory = (options: BetterAuthOptions) => DBAdapter;

/**
 * The store as the library of sign-in asks for it. Loaded when somebody signs in for the first time: the library takes
 * more memory than the rest of an idle gateway.
 */
export async function createAuthAdapter(engine: AuthEngine, fence: EpochFence): Promise<AuthAdapterFactory> {
  const { createAdapterFactory } = await import("better-auth/adapters");
  return createAdapterFactory({
    config: {
      adapterId: "gateway",
      adapterName: "the gateway's store",
      supportsBooleans: false,
      supportsDates: false,
      supportsJSON: false,
      // Inside one the library asks past it too, and the embedded store has one connection: it would wait for ever.
      transaction: false,
    },
    adapter: ({ schema }) => adapterOn(engine, fence, (model) => ["id", ...Object.keys(schema[model]?.fields ?? {})]),
  });
}

type ModelRef = { readonly model: string; readonly modelKey?: string | undefined };
type ModelQuery = ModelRef & { readonly where: CleanedWhere[] };
type ColumnRef = RawBuilder<unknown>;

/** `credentialID` is kept in `credential_id`. */
function columnNameOf(field: string): string {
  return field.replace(/[A-Z]+/g, (capitals) => `_${capitals.toLowerCase()}`);
}

const column = (field: string): ColumnRef => sql.ref(columnNameOf(field));

function adapterOn(
  engine: AuthEngine,
  fence: EpochFence,
  fieldsOf: (model: string) => readonly string[],
): CustomAdapter {
  const words = sqlFragments(fieldsOf);
  const { db, lockRows = sql`` } = engine;
  const needs: CredentialCondition = (target) => {
    const needed = fence.requiredCredential?.();
    if (needed?.writes !== modelKeyOf(target)) return undefined;
    // Whoever is taking it away is waited for, or waits for this.
    return sql`exists (select 1 from ${words.table(needed)} where ${column(needed.field)} = ${needed.value} ${lockRows})`;
  };
  const write = fencedWriter(engine, fence);
  return {
    ...readOperations(db, words, fence),
    ...consumeOperations(db, words),
    ...updateOperations(write, words, needs, fence),
    ...createOperations(write, words, needs, fence),
  };
}

type SqlFragments = ReturnType<typeof sqlFragments>;
/** Whether what the call goes by is there; undefined: what is written does not hang on it. */
type CredentialCondition = (target: ModelRef) => RawBuilder<unknown> | undefined;

const modelKeyOf = ({ model, modelKey }: ModelRef): string => modelKey ?? model;
const personField = (target: ModelRef): string => PERSON_FIELDS[modelKeyOf(target)] ?? "userId";

/** The parts that queries are made of. */
function sqlFragments(fieldsOf: (model: string) => readonly string[]) {
  const table = (target: ModelRef) => {
    const name = AUTH_TABLES[modelKeyOf(target)];
    if (name === undefined) throw new StoreError("rejected", `there is no table for ${target.model}`);
    return sql.table(name);
  };
  const matching = (target: ModelRef, where: readonly CleanedWhere[] | undefined) =>
    toCondition((where ?? []).map((one) => digestWhere(modelKeyOf(target), one)));
  return {
    table,
    matching,
    // In the library's own names, so that a row needs no change of its own.
    columns: (target: ModelRef) =>
      sql.join([...new Set(fieldsOf(modelKeyOf(target)))].map((field) => sql`${column(field)} as ${sql.ref(field)}`)),
    assigned: (target: ModelRef, values: object) =>
      Object.entries(digestValues(modelKeyOf(target), values)).map(
        ([field, value]) => sql`${column(field)} = ${value}`,
      ),
    one: (target: ModelRef, where: readonly CleanedWhere[]) =>
      sql`id in (select id from ${table(target)} where ${matching(target, where)} limit 1) and ${matching(target, where)}`,
    /** Which people rows are about, as they are and as they become. */
    whose(target: ModelRef, where: readonly CleanedWhere[], becomes: object = {}) {
      const field = personField(target);
      const named = where.filter((term) => term.field === field && term.operator === "eq").map(({ value }) => value);
      const ids = [...named, Reflect.get(becomes, field)].filter((id) => typeof id === "string");
      const kept = sql`id in (select ${column(field)} from ${table(target)} where ${matching(target, where)})`;
      return sql.join([...ids.map((id) => sql`id = ${id}`), kept], sql` or `);
    },
  };
}

/** Writes unless an epoch has begun of one of the people whom it is about; answers the rows. */
type FencedWrite = <T>(
  whom: RawBuilder<unknown>,
  written: (inTime: RawBuilder<unknown>) => RawBuilder<T>,
  of?: "the people themselves",
) => Promise<T[]>;

function fencedWriter({ db, lockRows = sql`` }: AuthEngine, fence: EpochFence): FencedWrite {
  return async <T>(
    whom: RawBuilder<unknown>,
    written: (inTime: RawBuilder<unknown>) => RawBuilder<T>,
    of?: "the people themselves",
  ) => {
    const asOf = fence.epoch();
    // An epoch that is about to begin is waited for, or waits for this. Rows of people are held by being written.
    const query =
      of === undefined
        ? sql<T>`with whose as (select epoch from people where ${whom} ${lockRows})
            ${written(sql`not exists (select 1 from whose where epoch > ${asOf})`)}`
        : written(sql`epoch <= ${asOf}`);
    const { rows } = await query.execute(db);
    if (rows.length > 0) return rows;
    const late = await sql`select 1 from people where (${whom}) and epoch > ${asOf} limit 1`.execute(db);
    return late.rows.length > 0 ? fence.rejectStale() : rows;
  };
}

function firstRow<T>(target: ModelRef, rows: readonly T[], where: readonly CleanedWhere[]): T | null {
  const [row] = rows;
  return row === undefined ? null : restoreSecret(modelKeyOf(target), row, where);
}

type AdapterPart<Name extends keyof CustomAdapter> = Required<Pick<CustomAdapter, Name>>;

function readOperations(
  db: AuthEngine["db"],
  { table, matching, columns }: SqlFragments,
  fence: EpochFence,
): AdapterPart<"findOne" | "findMany" | "count"> {
  return {
    async findOne<T>({ where, ...target }: ModelQuery) {
      const query = sql<T>`select ${columns(target)} from ${table(target)} where ${matching(target, where)} limit 1`;
      const { rows } = await query.execute(db);
      const [row] = rows;
      if (modelKeyOf(target) === "twoFactor" && isJsonObject(row)) fence.onSecondFactorRead?.(String(row["secret"]));
      return firstRow(target, rows, where);
    },
    async findMany<T>({ where, limit, sortBy, offset, ...target }: Parameters<CustomAdapter["findMany"]>[0]) {
      const order =
        sortBy === undefined
          ? sql``
          : sql`order by ${column(sortBy.field)} ${sortBy.direction === "desc" ? sql`desc` : sql`asc`}`;
      const query = sql<T>`select ${columns(target)} from ${table(target)} where ${matching(target, where)} ${order}
        limit ${limit} offset ${offset ?? 0}`;
      return (await query.execute(db)).rows;
    },
    async count({ where, ...target }) {
      const query = sql<{
        rows: unknown;
      }>`select count(*) as rows from ${table(target)} where ${matching(target, where)}`;
      return Number((await query.execute(db)).rows[0]?.rows ?? 0);
    },
  };
}

/** What somebody waits for is good once: whoever takes it has still to write what it is good for. */
function consumeOperations(db: AuthEngine["db"], { table, one, columns }: SqlFragments): AdapterPart<"consumeOne"> {
  return {
    async consumeOne<T>({ where, ...target }: ModelQuery) {
      const query = sql<T>`delete from ${table(target)} where ${one(target, where)} returning ${columns(target)}`;
      return firstRow(target, (await query.execute(db)).rows, where);
    },
  };
}

function createOperations(
  write: FencedWrite,
  { table }: SqlFragments,
  needs: CredentialCondition,
  { rejectStale }: EpochFence,
): AdapterPart<"create"> {
  return {
    async create({ data, ...target }) {
      const id: unknown = Reflect.get(data, personField(target));
      const kept = Object.entries(digestValues(modelKeyOf(target), data));
      const names = sql.join(kept.map(([field]) => column(field)));
      const values = sql.join(kept.map(([, value]) => sql`${value}`));
      const made = await write(
        modelKeyOf(target) === "user" || typeof id !== "string" ? MATCH_NONE : sql`id = ${id}`,
        (inTime) =>
          sql`insert into ${table(target)} (${names}) select ${values} where ${inTime} and ${needs(target) ?? MATCH_ALL}
            ${modelKeyOf(target) === "twoFactor" ? upsertSecondFactor(table(target), Object.keys(data)) : sql``} returning id`,
      );
      return made.length > 0 ? data : rejectStale();
    },
  };
}

/** A person has one second factor: another that is added at the same moment takes its place, unless it is on already. */
function upsertSecondFactor(table: RawBuilder<unknown>, fields: readonly string[]): RawBuilder<unknown> {
  const set = fields.map((field) => sql`${column(field)} = excluded.${column(field)}`);
  return sql`on conflict (user_id) do update set ${sql.join(set)} where ${table}.verified = 0`;
}

function updateOperations(
  write: FencedWrite,
  { table, matching, columns, assigned, one, whose }: SqlFragments,
  needs: CredentialCondition,
  { rejectStale }: EpochFence,
): AdapterPart<"update" | "updateMany" | "delete" | "deleteMany" | "incrementOne"> {
  const update = async <T>(
    target: ModelQuery,
    set: readonly RawBuilder<unknown>[],
    rows: RawBuilder<unknown>,
    becomes: object,
  ) => {
    const needed = needs(target);
    const written = await write(
      whose(target, target.where, becomes),
      (inTime) =>
        sql<T>`update ${table(target)} set ${sql.join(set)} where ${rows} and ${inTime} and ${needed ?? MATCH_ALL}
          returning ${columns(target)}`,
      modelKeyOf(target) === "user" ? "the people themselves" : undefined,
    );
    return written.length === 0 && needed !== undefined ? rejectStale() : written;
  };
  const remove = async (target: ModelQuery, always: readonly string[]) => {
    const whom = always.includes(modelKeyOf(target)) ? MATCH_NONE : whose(target, target.where);
    const rows = matching(target, target.where);
    const removed = (inTime: RawBuilder<unknown>) =>
      sql`delete from ${table(target)} where ${rows} and ${inTime} returning id`;
    return (await write(whom, removed)).length;
  };
  return {
    async update<T>({ update: set, ...target }: ModelQuery & { update: T }) {
      const becomes = typeof set === "object" && set !== null ? set : {};
      const rows = await update<T>(target, assigned(target, becomes), matching(target, target.where), becomes);
      return firstRow(target, rows, target.where);
    },
    updateMany: async ({ update: set, ...target }) =>
      (await update(target, assigned(target, set), matching(target, target.where), set)).length,
    async delete(target) {
      await remove(target, UNFENCED_DELETE_MODELS);
    },
    deleteMany: (target) => remove(target, EXPIRING_MODELS),
    async incrementOne<T>({
      increment,
      set = {},
      ...target
    }: Parameters<AdapterPart<"incrementOne">["incrementOne"]>[0]) {
      const added = Object.entries(increment).map(
        ([field, delta]) => sql`${column(field)} = coalesce(${column(field)}, 0) + ${delta}`,
      );
      const all = [...added, ...assigned(target, set)];
      return firstRow(target, await update<T>(target, all, one(target, target.where), set), target.where);
    },
  };
}

function digestValues(model: string, values: object): object {
  const secret = DIGESTED_FIELDS[model];
  const value: unknown = secret === undefined ? undefined : Reflect.get(values, secret);
  return secret === undefined || typeof value !== "string" ? values : { ...values, [secret]: sha256Hex(value) };
}

function digestWhere(model: string, where: CleanedWhere): CleanedWhere {
  if (DIGESTED_FIELDS[model] !== where.field) return where;
  const { value } = where;
  if (typeof value === "string") return { ...where, value: sha256Hex(value) };
  if (Array.isArray(value)) return { ...where, value: value.map((one) => sha256Hex(String(one))) };
  return where;
}

/** Who asked by the secret itself gets it back. */
function restoreSecret<T>(model: string, row: T, where: readonly CleanedWhere[]): T {
  const secret = DIGESTED_FIELDS[model];
  const asked = where.find(({ field, operator }) => field === secret && operator === "eq");
  if (secret === undefined || asked === undefined || typeof row !== "object" || row === null) return row;
  return Object.assign(row, { [secret]: asked.value });
}

const COMPARISONS: ReadonlyMap<CleanedWhere["operator"], RawBuilder<unknown>> = new Map([
  ["eq", sql`=`],
  ["ne", sql`<>`],
  ["lt", sql`<`],
  ["lte", sql`<=`],
  ["gt", sql`>`],
  ["gte", sql`>=`],
]);

function toCondition(where: readonly CleanedWhere[]): RawBuilder<unknown> {
  const all = where.filter(({ connector }) => connector === "AND").map(toTerm);
  const any = where.filter(({ connector }) => connector === "OR").map(toTerm);
  const terms = any.length === 0 ? all : [...all, sql`(${sql.join(any, sql` or `)})`];
  return terms.length === 0 ? sql`1 = 1` : sql.join(terms, sql` and `);
}

function toTerm({ field, operator, value, mode }: CleanedWhere): RawBuilder<unknown> {
  const left = column(field);
  if (value === null) return operator === "ne" ? sql`${left} is not null` : sql`${left} is null`;
  if (operator === "in" || operator === "not_in") {
    const values = Array.isArray(value) ? value : [value];
    if (values.length === 0) return operator === "in" ? sql`1 = 0` : sql`1 = 1`;
    const list = sql.join(values.map((one) => sql`${one}`));
    return operator === "in" ? sql`${left} in (${list})` : sql`${left} not in (${list})`;
  }
  const compared = COMPARISONS.get(operator);
  if (compared === undefined) throw new StoreError("rejected", `people are not looked for by ${operator}`);
  return mode === "insensitive" && typeof value === "string"
    ? sql`lower(${left}) ${compared} ${value.toLowerCase()}`
    : sql`${left} ${compared} ${value}`;
}
