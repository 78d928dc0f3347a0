import { InvalidArgumentError } from "commander";
import type { ApiCommand, Flag } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { LIFTED, orLift } from "./values.ts";

const NODES = "/manage/workspaces/{workspace}/nodes";
const NODE = `${NODES}/{node}`;
const NAMED = { name: "node" } as const;

/** `llama3:8b=meta/llama-3-8b,other=…`; nothing at all clears the mapping. */
function mapping(text: string): Record<string, string> | typeof LIFTED {
  if (text.trim() === "") return LIFTED;
  const pairs = text.split(",").map((pair) => {
    const at = pair.indexOf("=");
    const [local, model] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    if (at < 0 || local === "" || model === "")
      throw new InvalidArgumentError("Write local=catalogue, such as llama3:8b=meta/llama-3-8b-instruct.");
    return [local, model] as const;
  });
  return Object.fromEntries(pairs);
}

function country(text: string): string {
  if (/^[A-Za-z]{2}$/.test(text)) return text.toUpperCase();
  throw new InvalidArgumentError("Write a two-letter country code such as DE.");
}

const map: Flag = {
  flags: "--map <local=catalogue>",
  field: "mapping",
  says: "local models mapped to catalogue models, comma-separated",
  read: mapping,
};
const place: Flag = {
  flags: "--country <code>",
  field: "country",
  says: "country (ISO 3166-1); without it, policies with countries exclude the node",
  read: orLift(country),
};

const ONCE = "Copy the token now: it is not shown again. On the machine itself run `gateway node connect`.";
const MODELS = {
  at: "served",
  columns: columns("id", "model", "mapped_to", "surfaces", "context_tokens"),
};

/** Machines of a workspace's own. `node connect` runs on the machine itself and is no call of the management API. */
export const nodeCommands: ApiCommand[] = [
  {
    words: "node create",
    says: "create a tunnel node; its token is shown once",
    args: [WORKSPACE, { name: "name" }],
    flags: [place, map],
    call: { method: "POST", path: NODES, sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
    note: { says: ONCE },
  },
  {
    ...READ,
    words: "node list",
    says: "list tunnel nodes and their state",
    args: [WORKSPACE],
    flags: page,
    call: { method: "GET", path: NODES, sends: "query" },
    view: {
      is: "table",
      columns: columns(
        ...["name", "state", "country", "models", "running", "capacity", "latency_ms", "agent", "server"],
        ...["instance", "last_seen_at", "last_error.message"],
      ),
    },
  },
  {
    ...READ,
    words: "node show",
    says: "show a node and its models",
    args: [WORKSPACE, NAMED],
    call: { method: "GET", path: NODE, sends: "nothing" },
    view: { is: "record_with_tables", tables: [MODELS] },
  },
  {
    words: "node set",
    says: "change a node's country or mapping; it stays connected",
    args: [WORKSPACE, NAMED],
    flags: [place, map],
    call: { method: "PATCH", path: NODE, sends: "body" },
    bare: "refuse",
    pages: "one",
    view: { is: "record_with_tables", tables: [MODELS] },
  },
  {
    ...READ,
    words: "node rotate",
    says: "rotate a node's token; the old one ends immediately",
    args: [WORKSPACE, NAMED],
    call: { method: "POST", path: `${NODE}/rotate`, sends: "nothing" },
    note: { says: ONCE },
  },
  {
    ...READ,
    words: "node remove",
    says: "remove a node; its connection ends immediately",
    args: [WORKSPACE, NAMED],
    call: { method: "DELETE", path: NODE, sends: "nothing" },
  },
];
