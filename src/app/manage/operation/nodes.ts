import { type Fault, fault, invalidValue } from "../../../contract/faults.ts";
import { NodeCreate, NodePatch } from "../../../contract/schemas/manage-nodes.ts";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import { isChatLike } from "../../../domain/catalogue/callability.ts";
import { nodeModelId } from "../../../domain/catalogue/node-catalogue.ts";
import { NODE_TOKEN_PREFIX, type WorkspaceNode } from "../../../domain/tenancy/node.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { pluralize } from "../../../kit/pluralize.ts";
import { randomToken, sha256Hex } from "../../../kit/secret.ts";
import { type Exchange, type Handler, whole } from "../../exchange.ts";
import { short } from "../../printable.ts";
import { readBody, readQuery } from "../../request-input.ts";
import { actorName } from "../acting.ts";
import { commitWithAudit, findWorkspace, type ManageContext } from "../deps.ts";
import { paginate } from "../page.ts";
import { parseCountryCode } from "../tenancy/policies.ts";
import { isoTime } from "../views.ts";

const TOKEN_BYTES = 32;

type Mapping = WorkspaceNode["mapping"];

const timeOrNull = (atMs: number | null | undefined) => (atMs == null ? null : isoTime(atMs));

function rowView(room: ManageContext, node: WorkspaceNode) {
  const { live, running, latencyMs, aside, lastError, lastSeenAtMs } = room.nodes.registry.state(node.id);
  const announced = live?.announcement;
  return {
    id: node.id,
    name: node.name,
    country: node.country,
    state: live === undefined ? "offline" : aside === null ? "connected" : "set_aside",
    created_at: isoTime(node.createdAtMs),
    created_by: node.createdBy,
    last_seen_at: timeOrNull(live === undefined ? lastSeenAtMs : room.clock.nowMs()),
    connected_at: timeOrNull(live?.connectedAtMs),
    instance: live === undefined ? null : (live.instance ?? room.nodes.instance),
    address: live?.address ?? null,
    agent: announced?.agent ?? null,
    server: announced?.server ?? null,
    models: announced?.models.map(({ id }) => id) ?? [],
    running,
    capacity: announced?.capacity ?? null,
    latency_ms: latencyMs === null ? null : Math.round(latencyMs * 10) / 10,
    set_aside: aside === null ? null : { until: isoTime(aside.untilMs), reason: aside.reason },
    last_error: lastError === null ? null : { at: isoTime(lastError.atMs), message: lastError.message },
  };
}

function nodeView(room: ManageContext, node: WorkspaceNode) {
  const models = room.nodes.registry.state(node.id).live?.announcement.models ?? [];
  const mappedTo = (id: string) => (Object.hasOwn(node.mapping, id) ? (node.mapping[id] ?? null) : null);
  return {
    ...rowView(room, node),
    mapping: node.mapping,
    served: models.map((model) => ({
      id: model.id,
      model: nodeModelId(node, model.id),
      mapped_to: mappedTo(model.id),
      surfaces: model.surfaces,
      context_tokens: model.context_tokens,
      max_output_tokens: model.max_output_tokens,
      tools: model.tools,
      image_input: model.image_input,
      reasoning: model.reasoning,
    })),
  };
}

/**
 * What local models are mapped to must be there and be something that nodes are asked for, and each only once: one machine
 * is one endpoint of a model.
 */
function checkMapping(room: ManageContext, mapping: Mapping): void {
  const taken = new Set<string>();
  for (const id of Object.values(mapping)) {
    const model = room.snapshot().models.get(id);
    if (model === undefined)
      throw invalidValue("mapping", `the catalogue has no model "${short(id)}": take one of the catalogue`);
    if (!model.surfaces.some((surface) => isChatLike(surface) || surface === "embeddings"))
      throw invalidValue(
        "mapping",
        `nodes serve chat and embeddings, and "${id}" serves ${model.surfaces.join(" and ")} alone: take a model for one of those`,
      );
    if (taken.has(id)) throw invalidValue("mapping", `two models of one node stand behind "${short(id)}"`);
    taken.add(id);
  }
}

function findNode(room: ManageContext, workspace: Workspace, named: string | undefined): WorkspaceNode {
  const node = room.nodes.registry.of(workspace.id).find(({ id, name }) => id === named || name === named);
  if (node !== undefined) return node;
  throw fault("not_found", { message: `Workspace ${workspace.slug} has no node "${short(named)}".` });
}

function newToken(): { readonly token: string; readonly digest: string } {
  const token = `${NODE_TOKEN_PREFIX}${randomToken(TOKEN_BYTES)}`;
  return { token, digest: sha256Hex(token) };
}

function newNodeConflict(room: ManageContext, workspace: Workspace, name: string): Fault | undefined {
  const there = room.nodes.registry.of(workspace.id);
  if (there.some((node) => node.name === name))
    return fault("conflict", {
      message: `Workspace ${workspace.slug} has a node "${name}" already: take another name, or rotate its token.`,
      param: "name",
    });
  if (there.length >= room.nodes.max)
    return fault("conflict", {
      message:
        room.nodes.max === 0
          ? "Nodes are switched off here (GATEWAY_NODES_MAX is 0). Ask the operator."
          : `A workspace has at most ${pluralize(room.nodes.max, "node")} here (GATEWAY_NODES_MAX): remove one first.`,
    });
  return undefined;
}

type NodeInput = Pick<WorkspaceNode, "name" | "country" | "mapping">;

async function createNode(room: ManageContext, workspace: Workspace, asked: NodeInput) {
  const refusal = newNodeConflict(room, workspace, asked.name);
  if (refusal !== undefined) throw refusal;
  checkMapping(room, asked.mapping);
  const { token, digest } = newToken();
  const node: WorkspaceNode = {
    ...asked,
    id: room.ids.next("node_"),
    workspaceId: workspace.id,
    digest,
    createdAtMs: room.clock.nowMs(),
    createdBy: actorName(),
    lastSeenAtMs: null,
  };
  await saveNode(room, node, "node.create", { ...asked });
  return { ...nodeView(room, node), token };
}

/** Into SQL with its line, and then into the memory that the door and the next request read. */
async function saveNode(
  room: ManageContext,
  node: WorkspaceNode,
  action: string,
  detail: Readonly<Record<string, unknown>>,
) {
  await commitWithAudit(room, async ({ nodes }) => {
    await nodes.save(node);
    return { answer: null, audit: { action, workspaceId: node.workspaceId, target: node.id, detail } };
  });
  room.nodes.registry.put(node);
}

async function changeNode(
  room: ManageContext,
  before: WorkspaceNode,
  asked: Partial<Pick<WorkspaceNode, "country" | "mapping">>,
) {
  if (asked.mapping !== undefined) checkMapping(room, asked.mapping);
  const node: WorkspaceNode = { ...before, ...asked };
  const { country, mapping } = before;
  await saveNode(room, node, "node.change", {
    name: node.name,
    before: { country, mapping },
    after: { country: node.country, mapping: node.mapping },
  });
  return nodeView(room, node);
}

async function rotateNode(room: ManageContext, before: WorkspaceNode) {
  const { token, digest } = newToken();
  const node: WorkspaceNode = { ...before, digest };
  await saveNode(room, node, "node.rotate", { name: node.name });
  return { ...nodeView(room, node), token };
}

async function removeNode(room: ManageContext, { id, name, workspaceId }: WorkspaceNode) {
  await commitWithAudit(room, async ({ nodes }) => {
    await nodes.remove(id);
    return { answer: null, audit: { action: "node.remove", workspaceId, target: id, detail: { name } } };
  });
  room.nodes.registry.drop(id);
  return { id, name, removed: true };
}

const parseCountry = (country: string | null | undefined) =>
  country == null ? null : parseCountryCode("country", country);

export function nodeHandlers(room: ManageContext): Record<string, Handler> {
  const nodeOf = ({ params }: Exchange) => findNode(room, findWorkspace(room, params["workspace"]), params["node"]);
  return {
    manageListNodes: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const { rows, next } = paginate(room.nodes.registry.of(workspace.id), limit, cursor);
      return { status: 200, json: { data: rows.map((node) => rowView(room, node)), next } };
    }),
    manageShowNode: whole(async (exchange) => ({ status: 200, json: nodeView(room, nodeOf(exchange)) })),
    manageCreateNode: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      const { name, country, mapping } = await readBody(exchange, NodeCreate);
      const asked = { name, country: parseCountry(country), mapping: mapping ?? {} };
      return { status: 201, json: await room.inTurn(() => createNode(room, workspace, asked)) };
    }),
    manageChangeNode: whole(async (exchange) => {
      nodeOf(exchange);
      const { country, mapping } = await readBody(exchange, NodePatch);
      const asked = {
        ...(country === undefined ? {} : { country: parseCountry(country) }),
        ...(mapping === undefined ? {} : { mapping: mapping ?? {} }),
      };
      return { status: 200, json: await room.inTurn(() => changeNode(room, nodeOf(exchange), asked)) };
    }),
    manageRotateNode: whole(async (exchange) => ({
      status: 200,
      json: await room.inTurn(() => rotateNode(room, nodeOf(exchange))),
    })),
    manageRemoveNode: whole(async (exchange) => ({
      status: 200,
      json: await room.inTurn(() => removeNode(room, nodeOf(exchange))),
    })),
  };
}
