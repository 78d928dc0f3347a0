import { RouterPut } from "../../contract/schemas/manage-routing.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { Client } from "../client.ts";
import { CliError } from "../command.ts";
import { eachPage } from "../run-api.ts";
import type { WorkspaceConfig } from "./config-file.ts";

export type ManageCall = { readonly method: string; readonly path: string; readonly body?: JsonObject };

/** What is configured now, in the form of the file. */
export type CurrentResource = {
  readonly id: string;
  readonly value: JsonObject;
  /** Why a file cannot change it. */
  readonly blocked?: string | undefined;
};

type Section = keyof WorkspaceConfig;

/** Settings that a workspace has once. */
export type SettingResource = {
  readonly section: Section;
  readonly title: string;
  read(client: Client, workspace: string): Promise<JsonObject>;
  change(workspace: string, value: JsonObject): ManageCall;
  /** Member of the response that is shown only once. */
  readonly secret?: string;
};

/** Things that a workspace has any number of, by name. */
export type CollectionResource = {
  readonly section: Section;
  readonly title: string;
  /** `wanted` are the names whose details are needed. */
  read(client: Client, workspace: string, wanted: NameFilter): Promise<ReadonlyMap<string, CurrentResource>>;
  /** The whole value of things that are replaced as a whole. */
  complete?(value: JsonObject): JsonObject;
  /** Fields that cannot be changed later. */
  readonly fixed: readonly string[];
  create(workspace: string, name: string, value: JsonObject): ManageCall;
  change(workspace: string, existing: CurrentResource & { readonly name: string }, value: JsonObject): ManageCall;
  remove(workspace: string, existing: CurrentResource & { readonly name: string }): ManageCall;
  readonly secret?: string;
};

export type NameFilter = ReadonlySet<string> | "all";

export const workspacePath = (workspace: string) => `/manage/workspaces/${encodeURIComponent(workspace)}`;
const below = (workspace: string, ...words: readonly string[]) =>
  [workspacePath(workspace), ...words.map(encodeURIComponent)].join("/");
const isIncluded = (wanted: NameFilter, name: string) => wanted === "all" || wanted.has(name);

async function allRows(client: Client, path: string): Promise<JsonObject[]> {
  const rows: JsonObject[] = [];
  for await (const page of eachPage(client, path, {})) rows.push(...page.filter(isJsonObject));
  return rows;
}

const objectAt = (value: JsonObject, name: string): JsonObject => {
  const found = value[name];
  return isJsonObject(found) ? found : {};
};

function pick(value: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, value[name] ?? null]));
}

const limitsOf = (row: JsonObject | undefined): JsonObject => ({
  day: objectAt(row ?? {}, "day")["limit"] ?? null,
  month: objectAt(row ?? {}, "month")["limit"] ?? null,
});

const keyPolicy: SettingResource = {
  section: "key_policy",
  title: "key policy",
  read: (client, workspace) => client.send("GET", below(workspace, "key-policy")),
  change: (workspace, body) => ({ method: "PATCH", path: below(workspace, "key-policy"), body }),
};

const policy: SettingResource = {
  section: "policy",
  title: "policy",
  read: (client, workspace) => client.send("GET", below(workspace, "policy")),
  change: (workspace, body) => ({ method: "PATCH", path: below(workspace, "policy"), body }),
};

const limits: SettingResource = {
  section: "limits",
  title: "spend limits",
  async read(client, workspace) {
    return limitsOf(await client.send("GET", below(workspace, "limits")));
  },
  change: (workspace, body) => ({ method: "PUT", path: below(workspace, "limits"), body }),
};

const alerts: SettingResource = {
  section: "alerts",
  title: "alerts",
  async read(client, workspace) {
    const shown = await client.send("GET", below(workspace, "alerts"));
    const { webhook } = shown;
    const rules = pick(shown, ["low_balance", "limit_percents", "credential_refused", "data_classes", "mail_to"]);
    return { ...rules, webhook_url: isJsonObject(webhook) ? webhook["url"] : null };
  },
  change: (workspace, body) => ({ method: "PUT", path: below(workspace, "alerts"), body }),
  secret: "webhook_secret",
};

/** A change replaces the whole class, and its token is in no response. */
const HAS_DETECTOR = "has an external detector, which files do not hold: change it with `gateway data-class define`";

const dataClasses: CollectionResource = {
  section: "data_classes",
  title: "data class",
  async read(client, workspace, wanted) {
    const { data } = await client.send("GET", below(workspace, "data-classes"));
    const names = Array.isArray(data) ? data.filter(isJsonObject).map(({ name }) => String(name)) : [];
    const found = new Map<string, CurrentResource>();
    for (const name of names) {
      const detail = isIncluded(wanted, name) ? await client.send("GET", below(workspace, "data-classes", name)) : {};
      const { detector, ...value } = objectAt(detail, "definition");
      found.set(name, { id: name, value, blocked: isJsonObject(detector) ? HAS_DETECTOR : undefined });
    }
    return found;
  },
  complete: (value) => ({ terms: [], patterns: [], ...value }),
  fixed: [],
  create: (workspace, name, body) => ({ method: "PUT", path: below(workspace, "data-classes", name), body }),
  change: (workspace, { name }, body) => ({ method: "PUT", path: below(workspace, "data-classes", name), body }),
  remove: (workspace, { name }) => ({ method: "DELETE", path: below(workspace, "data-classes", name) }),
};

const ROUTER_FIELDS = Object.keys(RouterPut.shape);

const routers: CollectionResource = {
  section: "routers",
  title: "router",
  async read(client, workspace) {
    const rows = await allRows(client, below(workspace, "routers"));
    return new Map(
      rows.map((row) => [String(row["slug"]), { id: String(row["slug"]), value: pick(row, ROUTER_FIELDS) }]),
    );
  },
  complete(value) {
    const { weights } = value;
    const given = isJsonObject(weights) ? { quality: 0, cost: 0, latency: 0, ...weights } : undefined;
    return { ...pick(value, ROUTER_FIELDS), weights: given ?? { quality: 1, cost: 1, latency: 1 } };
  },
  fixed: [],
  create: (workspace, name, body) => ({ method: "PUT", path: below(workspace, "routers", name), body }),
  change: (workspace, { name }, body) => ({ method: "PUT", path: below(workspace, "routers", name), body }),
  remove: (workspace, { name }) => ({ method: "DELETE", path: below(workspace, "routers", name) }),
};

const KEY_FIELDS = ["environment", "member", "scopes", "ip_allowlist", "expires_at", "rpm", "policy"];
/** Names of keys in other states can be used again. Personal keys are their owners' unless the file names them. */
const KEY_STATES: ReadonlySet<unknown> = new Set(["pending", "active", "expired"]);

function restrictionsOf(policy: unknown): JsonObject | null {
  if (!isJsonObject(policy)) return null;
  const { own_nodes: _, test_keys: __, ...restrictions } = policy;
  return restrictions;
}

const keys: CollectionResource = {
  section: "keys",
  title: "key",
  async read(client, workspace, wanted) {
    const isConfigured = ({ name, state, kind }: JsonObject) =>
      KEY_STATES.has(state) && (kind === "workspace" || (wanted !== "all" && wanted.has(String(name))));
    const rows = (await allRows(client, below(workspace, "keys"))).filter(isConfigured);
    const spending = new Map<unknown, JsonObject>();
    for (const row of await allRows(client, below(workspace, "limits", "all"))) spending.set(row["key"], row);
    const found = new Map<string, CurrentResource>();
    for (const row of rows) {
      const [name, id] = [String(row["name"]), String(row["id"])];
      if (found.has(name) && isIncluded(wanted, name))
        throw new CliError(
          `Workspace ${workspace} has two keys with the name "${name}". Rename one of them with \`gateway key set\`.`,
        );
      const settings = { ...pick(row, KEY_FIELDS), policy: restrictionsOf(row["policy"]) };
      found.set(name, { id, value: { ...settings, spend_limits: limitsOf(spending.get(id)) } });
    }
    return found;
  },
  fixed: ["environment", "member"],
  create: (workspace, name, value) => ({ method: "POST", path: below(workspace, "keys"), body: { name, ...value } }),
  change: (_workspace, { id }, body) => ({ method: "PATCH", path: `/manage/keys/${encodeURIComponent(id)}`, body }),
  remove: (_workspace, { id }) => ({ method: "POST", path: `/manage/keys/${encodeURIComponent(id)}/revoke` }),
  secret: "key",
};

const nodes: CollectionResource = {
  section: "nodes",
  title: "node",
  async read(client, workspace, wanted) {
    const found = new Map<string, CurrentResource>();
    for (const row of await allRows(client, below(workspace, "nodes"))) {
      const name = String(row["name"]);
      const detail = isIncluded(wanted, name) ? await client.send("GET", below(workspace, "nodes", name)) : {};
      found.set(name, { id: name, value: pick(detail, ["country", "mapping", "surfaces"]) });
    }
    return found;
  },
  fixed: [],
  create: (workspace, name, value) => ({ method: "POST", path: below(workspace, "nodes"), body: { name, ...value } }),
  change: (workspace, { name }, body) => ({ method: "PATCH", path: below(workspace, "nodes", name), body }),
  remove: (workspace, { name }) => ({ method: "DELETE", path: below(workspace, "nodes", name) }),
  secret: "token",
};

/** In the order in which they are applied: rules may name data classes, and keys exist only under the new policy. */
export const RESOURCES: readonly (SettingResource | CollectionResource)[] = [
  keyPolicy,
  dataClasses,
  policy,
  routers,
  limits,
  keys,
  nodes,
  alerts,
];

export const isCollection = (resource: SettingResource | CollectionResource): resource is CollectionResource =>
  "create" in resource;
