import { InvalidArgumentError } from "commander";
import type { ApiCommand, Flag } from "./command.ts";
import { localPairs, modelSurfaces } from "./node-models.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { LIFTED, oneOf, orLift } from "./values.ts";

const NODES = "/manage/workspaces/{workspace}/nodes";
const NODE = `${NODES}/{node}`;
const NAMED = { name: "node" } as const;

/** `llama3:8b=meta/llama-3-8b,other=…`; nothing at all clears the mapping. */
function mapping(text: string): Record<string, string> | typeof LIFTED {
  if (text.trim() === "") return LIFTED;
  const pairs = localPairs(text, "local=catalogue, such as llama3:8b=meta/llama-3-8b-instruct");
  return Object.fromEntries(pairs);
}

/** `bge-m3=embeddings,both=chat+embeddings`; nothing at all lets the agent find all surfaces. */
function surfaces(text: string): Record<string, string[]> | typeof LIFTED {
  return text.trim() === "" ? LIFTED : modelSurfaces(text);
}

function country(text: string): string {
  if (/^[A-Za-z]{2}$/.test(text)) return text.toUpperCase();
  throw new InvalidArgumentError("Must be a two-letter country code such as DE.");
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
  says: "country (ISO 3166-1), which decides the level; without it, floors and allowed countries exclude the node",
  read: orLift(country),
};

const serves: Flag = {
  flags: "--surfaces <local=surfaces>",
  field: "surfaces",
  says: "surfaces of local models, such as bge-m3=embeddings or both=chat+embeddings; replaces those that the agent finds",
  read: surfaces,
};

const ONCE =
  "Copy the token now: it is not shown again. Then run the agent on the machine: `curl -fsSLO <gateway>/node/agent.mjs`, or `gateway node connect` in a checkout.";
const MODELS = {
  at: "served",
  columns: columns("id", "model", "mapped_to", "surfaces", "announced_surfaces", "context_tokens"),
};
const ATTESTATIONS = {
  at: "attestations",
  columns: columns("level", "name", "reason", "at", "recorded_by", "ended_at"),
};
const NODE_VIEW = { is: "record_with_tables", tables: [MODELS, ATTESTATIONS] } as const;

/** Machines of a workspace's own. `node connect` runs on the machine itself and is no call of the management API. */
export const nodeCommands: ApiCommand[] = [
  {
    words: "node create",
    says: "create a tunnel node; its token is shown once",
    args: [WORKSPACE, { name: "name" }],
    flags: [place, map, serves],
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
        ...[
          "name",
          "state",
          "country",
          "level",
          "attestation.name",
          "models",
          "running",
          "capacity",
          "latency_ms",
          "agent",
          "server",
        ],
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
    view: NODE_VIEW,
  },
  {
    words: "node set",
    says: "change a node's country, mapping or surfaces; it stays connected",
    args: [WORKSPACE, NAMED],
    flags: [place, map, serves],
    call: { method: "PATCH", path: NODE, sends: "body" },
    bare: "refuse",
    pages: "one",
    view: NODE_VIEW,
  },
  {
    words: "node attest",
    says: "record that a node meets a level above that of its country",
    args: [WORKSPACE, NAMED],
    flags: [
      {
        flags: "--level <level>",
        field: "level",
        says: "L2, L3 or L4",
        read: oneOf("L2", "L3", "L4"),
        needed: "always",
      },
      { flags: "--name <name>", field: "name", says: "person who vouches for it", needed: "always" },
      { flags: "--reason <text>", field: "reason", says: "why the machine meets the level", needed: "always" },
    ],
    call: { method: "PUT", path: `${NODE}/attestation`, sends: "body" },
    bare: "refuse",
    pages: "one",
    view: NODE_VIEW,
  },
  {
    ...READ,
    words: "node withdraw-attestation",
    says: "withdraw a node's attestation; its level follows from its country again",
    args: [WORKSPACE, NAMED],
    call: { method: "DELETE", path: `${NODE}/attestation`, sends: "nothing" },
    view: NODE_VIEW,
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
