import type { Column, Flag } from "./command.ts";
import { wholeNumber } from "./values.ts";

/** Titles of fields whose API name differs from the current term. */
const TITLES: Readonly<Record<string, string>> = {
  aside_until: "circuit open until",
  failures_in_a_row: "consecutive failures",
};

export const columns = (...names: string[]): Column[] =>
  names.map((at) => ({ title: TITLES[at] ?? at.replace(/[._]/g, " "), at }));

export const RECORD = { is: "record" } as const;
export const WORKSPACE = { name: "workspace" } as const;
export const READ = { flags: [], bare: "send", pages: "one", view: RECORD } as const;

export const page: Flag[] = [
  { flags: "--limit <n>", field: "limit", says: "rows per page, up to 1000", read: wholeNumber(1, 1000) },
  { flags: "--cursor <cursor>", field: "cursor", says: "`next` of the previous page" },
];
