import type { DatabaseSync, StatementSync } from "node:sqlite";
import { LruMap } from "../../../../kit/lru-map.ts";
import type { SqlValue } from "../store-worker-protocol.ts";

const STATEMENTS_MAX = 200;

/** Runs SQL texts through a cache of prepared statements. */
export function statementRunner(db: DatabaseSync) {
  const statements = new LruMap<string, StatementSync>(STATEMENTS_MAX);
  const statementFor = (sql: string) => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    statements.set(sql, statement);
    return statement;
  };
  return (sql: string, parameters: readonly SqlValue[]) => {
    // SQLite has already rolled back after a full disk; a failing rollback would hide the cause.
    if (sql === "rollback" && !db.isTransaction) return { rows: [], changes: 0n };
    const statement = statementFor(sql);
    if (statement.columns().length > 0) return { rows: statement.all(...parameters), changes: 0n };
    return { rows: [], changes: BigInt(statement.run(...parameters).changes) };
  };
}
