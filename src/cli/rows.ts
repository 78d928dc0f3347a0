import type { Column, Flag } from "./command.ts";
import { wholeNumber } from "./values.ts";

/** What rows of the command table are made of. */
export const columns = (...names: string[]): Column[] => names.map((at) => ({ title: at.replace(/[._]/g, " "), at }));

export const RECORD = { is: "record" } as const;
export const WORKSPACE = { name: "workspace" } as const;
export const READ = { flags: [], bare: "send", pages: "one", view: RECORD } as const;

export const page: Flag[] = [
  { flags: "--limit <n>", field: "limit", says: "rows on the page, up to 1000", read: wholeNumber(1, 1000) },
  { flags: "--cursor <cursor>", field: "cursor", says: "`next` of the page before" },
];
