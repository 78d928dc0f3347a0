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
    says: "show how many data keys each master key has wrapped",
    args: [],
    call: { method: "GET", path: "/manage/master-key", sends: "nothing" },
    view: VIEW,
  },
  {
    ...READ,
    words: "master-key rotate",
    says: "rotate a master key that the gateway generated, and rewrap all data keys",
    args: [],
    call: { method: "POST", path: "/manage/master-key/rotate", sends: "nothing" },
    view: VIEW,
  },
];
