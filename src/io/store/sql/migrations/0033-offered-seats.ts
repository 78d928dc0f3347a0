import type { Ddl } from "../engine.ts";

/** Of members: an admin has written the address, and nobody has accepted yet. */
export function offeredSeats({ integer }: Ddl): string[] {
  return [`alter table members add column offered ${integer} not null default 0`];
}
