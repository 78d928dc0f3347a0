import type { Ddl } from "../engine.ts";

/** Members: invited by an admin and not accepted yet. */
export function offeredSeats({ integer }: Ddl): string[] {
  return [`alter table members add column offered ${integer} not null default 0`];
}
