import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

const repeatRow = (row: string, count: number) => Array(count).fill(row).join(", ");

/**
 * New rows of one table, written many with each statement: a statement costs as much as a row. One that is there already
 * takes the whole transaction back.
 */
export class BulkInsert {
  readonly #one: StatementSync;
  readonly #many: StatementSync;
  readonly #columns: number;
  readonly #rowsPerStatement: number;
  #values: SQLInputValue[] = [];

  /** `row`: what stands for the values of one row. */
  constructor(db: DatabaseSync, table: string, row: string, atOnce: number) {
    this.#one = db.prepare(`insert or rollback into ${table} values ${row}`);
    this.#many = db.prepare(`insert or rollback into ${table} values ${repeatRow(row, atOnce)}`);
    this.#columns = row.split("?").length - 1;
    this.#rowsPerStatement = atOnce;
  }

  /** As many values as the row has places for. */
  add(...values: SQLInputValue[]): void {
    this.#values.push(...values);
    if (this.#values.length < this.#columns * this.#rowsPerStatement) return;
    this.#many.run(...this.#values);
    this.#values = [];
  }

  /** Writes what is left. */
  flush(): void {
    const values = this.#values;
    this.#values = [];
    for (let at = 0; at < values.length; at += this.#columns) this.#one.run(...values.slice(at, at + this.#columns));
  }

  /** What was added and is not written does not come into the next transaction. */
  discard(): void {
    this.#values = [];
  }
}
