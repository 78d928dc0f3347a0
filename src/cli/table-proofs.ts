import type { ApiCommand, Flag } from "./command.ts";
import { columns, page, READ } from "./rows.ts";
import { oneOf } from "./values.ts";

export const probeFlags: Flag[] = [
  { flags: "--endpoint <id>", field: "endpoint", says: "only this endpoint" },
  {
    flags: "--surface <surface>",
    field: "surface",
    says: "only this surface: decisions or speech",
    read: oneOf("decisions", "speech"),
  },
];

export const proofCommands: ApiCommand[] = [
  {
    ...READ,
    words: "proof list",
    says: "show which endpoints are verified for decisions and speech",
    args: [],
    call: { method: "GET", path: "/manage/proofs", sends: "nothing" },
    view: {
      is: "table",
      columns: [
        ...columns("endpoint", "surface", "proven", "images", "proven_at", "failures"),
        { title: "last", at: "last.reason", cut: "never" },
      ],
    },
  },
  {
    ...READ,
    words: "proof history",
    says: "list verification runs, newest first",
    args: [],
    flags: [
      ...probeFlags,
      {
        flags: "--result <result>",
        field: "result",
        says: "only this result: proven or failed",
        read: oneOf("proven", "failed"),
      },
      ...page,
    ],
    call: { method: "GET", path: "/manage/probes", sends: "query" },
    view: {
      is: "table",
      columns: [
        ...columns("at", "endpoint", "surface", "result", "cause", "input_tokens", "output_tokens"),
        { title: "reason", at: "reason", cut: "never" },
      ],
    },
  },
];
