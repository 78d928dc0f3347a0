import type { ApiCommand } from "./command.ts";
import { READ, WORKSPACE } from "./rows.ts";

const CACHE = "/manage/workspaces/{workspace}/cache";

export const cacheCommands: ApiCommand[] = [
  {
    ...READ,
    words: "cache show",
    says: "show the size of the response cache of a workspace",
    args: [WORKSPACE],
    call: { method: "GET", path: CACHE, sends: "nothing" },
  },
  {
    ...READ,
    words: "cache purge",
    says: "delete all cached replies of a workspace",
    args: [WORKSPACE],
    call: { method: "DELETE", path: CACHE, sends: "nothing" },
  },
];
