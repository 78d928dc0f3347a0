import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { Client } from "../client.ts";
import { CliError } from "../command.ts";
import { changedFields, type FieldChange } from "./compare.ts";
import type { ConfigFile, WorkspaceConfig } from "./config-file.ts";
import {
  type CollectionResource,
  type CurrentResource,
  isCollection,
  type ManageCall,
  RESOURCES,
  type SettingResource,
  workspacePath,
} from "./resources.ts";

/** One change that makes the gateway agree with the file. */
export type Change = {
  readonly workspace: string;
  readonly kind: string;
  /** Null for settings that a workspace has once. */
  readonly name: string | null;
  readonly action: "create" | "change" | "remove";
  readonly fields: readonly FieldChange[];
  readonly call: ManageCall;
  /** Member of the response that is shown only once. */
  readonly secret: string | undefined;
};

export type ConfigPlan = {
  readonly changes: readonly Change[];
  /** What exists beside the sections of the file, and stays. */
  readonly unlisted: readonly { readonly workspace: string; readonly kind: string; readonly name: string }[];
  readonly warnings: readonly string[];
};

/** Compares the file with the gateway. Nothing is changed; what the gateway would refuse in a policy is refused here. */
export async function planConfig(client: Client, { workspaces }: ConfigFile, removes: boolean): Promise<ConfigPlan> {
  const plans: ConfigPlan[] = [];
  for (const [workspace, config] of Object.entries(workspaces))
    plans.push(await planWorkspace(client, workspace, config, removes));
  return {
    changes: plans.flatMap(({ changes }) => changes),
    unlisted: plans.flatMap(({ unlisted }) => unlisted),
    warnings: plans.flatMap(({ warnings }) => warnings),
  };
}

async function planWorkspace(
  client: Client,
  workspace: string,
  config: WorkspaceConfig,
  removes: boolean,
): Promise<ConfigPlan> {
  const current = await client.find(workspacePath(workspace));
  const changes = planSelf(workspace, config, current);
  const removals: Change[] = [];
  const unlisted: { workspace: string; kind: string; name: string }[] = [];
  for (const resource of RESOURCES) {
    const wanted = config[resource.section];
    if (!isJsonObject(wanted)) continue;
    if (!isCollection(resource)) {
      changes.push(...(await planSetting(client, workspace, resource, wanted, current !== undefined)));
      continue;
    }
    const names = new Set(Object.keys(wanted));
    const existing = current === undefined ? NOTHING : await resource.read(client, workspace, names);
    for (const [name, value] of Object.entries(wanted))
      if (isJsonObject(value)) changes.push(...planMember(workspace, resource, name, value, existing.get(name)));
    for (const [name, { id, value }] of existing) {
      if (names.has(name)) continue;
      if (removes) removals.unshift(removal(workspace, resource, name, { id, value }));
      else unlisted.push({ workspace, kind: resource.title, name });
    }
  }
  const warnings = current === undefined ? [] : await previewWarnings(client, workspace, changes);
  return { changes: [...changes, ...removals], unlisted, warnings };
}

const NOTHING: ReadonlyMap<string, CurrentResource> = new Map();

function planSelf(workspace: string, config: WorkspaceConfig, current: JsonObject | undefined): Change[] {
  const { name, currency } = config;
  const self = { workspace, kind: "workspace", name: null, secret: undefined };
  if (current === undefined) {
    const body = { slug: workspace, ...(name ? { name } : {}), ...(currency ? { currency } : {}) };
    const call = { method: "POST", path: "/manage/workspaces", body };
    return [{ ...self, action: "create", fields: changedFields({ name, currency }, {}), call }];
  }
  if (currency && currency !== current["currency"])
    throw new CliError(
      `workspaces.${workspace}.currency: the wallet is in ${String(current["currency"])}, which cannot be changed.`,
    );
  if (!name || name === current["name"]) return [];
  const call = { method: "PATCH", path: workspacePath(workspace), body: { name } };
  return [{ ...self, action: "change", fields: changedFields({ name }, current), call }];
}

async function planSetting(
  client: Client,
  workspace: string,
  setting: SettingResource,
  wanted: JsonObject,
  exists: boolean,
): Promise<Change[]> {
  const fields = changedFields(wanted, exists ? await setting.read(client, workspace) : {});
  if (fields.length === 0) return [];
  const { title: kind, secret } = setting;
  const call = setting.change(workspace, wanted);
  return [{ workspace, kind, name: null, action: "change", fields, call, secret: issuedSecret(fields, secret) }];
}

/** A webhook has a secret once its URL is set. */
function issuedSecret(fields: readonly FieldChange[], secret: string | undefined): string | undefined {
  return fields.some(({ path, from, to }) => path === "webhook_url" && from === null && to !== null)
    ? secret
    : undefined;
}

function planMember(
  workspace: string,
  resource: CollectionResource,
  name: string,
  value: JsonObject,
  existing: CurrentResource | undefined,
): Change[] {
  const { title: kind, secret, fixed } = resource;
  const wanted = resource.complete?.(value) ?? value;
  const planned = { workspace, kind, name };
  if (existing === undefined) {
    const call = resource.create(workspace, name, wanted);
    return [{ ...planned, action: "create", fields: changedFields(value, {}), call, secret }];
  }
  const fields = changedFields(wanted, existing.value);
  const blocked = fields.find(({ path }) => fixed.includes(path));
  if (blocked !== undefined)
    throw new CliError(
      `workspaces.${workspace}.${resource.section}.${name}.${blocked.path}: is ${showValue(blocked.from)} and cannot be changed. Use another name, which creates another ${kind}.`,
    );
  if (fields.length === 0) return [];
  if (existing.blocked !== undefined)
    throw new CliError(`workspaces.${workspace}.${resource.section}.${name}: ${existing.blocked}.`);
  const body = Object.fromEntries(Object.entries(wanted).filter(([field]) => !fixed.includes(field)));
  const call = resource.change(workspace, { ...existing, name }, body);
  return [{ ...planned, action: "change", fields, call, secret: undefined }];
}

function removal(workspace: string, resource: CollectionResource, name: string, existing: CurrentResource): Change {
  const call = resource.remove(workspace, { ...existing, name });
  return { workspace, kind: resource.title, name, action: "remove", fields: [], call, secret: undefined };
}

/** The gateway checks the policy and says what it would end, unless it names a data class that does not exist yet. */
async function previewWarnings(client: Client, workspace: string, changes: readonly Change[]): Promise<string[]> {
  const policy = changes.find(({ kind }) => kind === "policy");
  if (policy === undefined || changes.some(({ kind, action }) => kind === "data class" && action === "create"))
    return [];
  const preview = await client.send("POST", `${workspacePath(workspace)}/policy/preview`, policy.call.body);
  const lost = Array.isArray(preview["lost_in_use"]) ? preview["lost_in_use"].filter(isJsonObject) : [];
  return lost.map(
    ({ model, requests }) =>
      `${workspace}: the policy ends ${String(model)}, which served ${String(requests)} requests in the last 30 days`,
  );
}

const VALUE_CHARS_MAX = 200;

/** One line for people. */
export function showValue(value: unknown): string {
  if (value === null || value === undefined) return "none";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text;
}
