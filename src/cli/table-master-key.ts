import type { ApiCommand } from "./command.ts";
import { columns, READ } from "./rows.ts";

const VIEW = {
  is: "record_with_tables",
  tables: [{ at: "keys", columns: columns("id", "role", "data_keys") }],
} as const;

export const masterKeyCommands: ApiCommand[] = [
  {
    ...READ,
    words: "master-key status",
    says: "show which master key has wrapped how many data keys",
    args: [],
    call: { method: "GET", path: "/manage/master-key", sends: "nothing" },
    view: VIEW,
  },
  {
    ...READ,
    words: "master-key rotate",
    says: "make a new master key where the gateway made the old one, and wrap all data keys by it",
    args: [],
    call: { method: "POST", path: "/manage/master-key/rotate", sends: "nothing" },
    view: VIEW,
  },
];
