import { type Fault, fault, invalidValue } from "../../../contract/faults.ts";
import { NodeAttest, NodeCreate, NodePatch } from "../../../contract/schemas/manage-nodes.ts";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import { nodeLevel, nodeModelId } from "../../../domain/catalogue/node-catalogue.ts";
import { isChatLike } from "../../../domain/record/request-shape.ts";
import {
  ATTESTATIONS_KEPT_MAX,
  attestationOf,
  endAttestation,
  type LevelAttestation,
  NODE_TOKEN_PREFIX,
  type WorkspaceNode,
} from "../../../domain/tenancy/node.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { pluralize } from "../../../kit/pluralize.ts";
import { randomToken, sha256Hex } from "../../../kit/secret.ts";
import { buffered, type Exchange, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { readBody, readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, findWorkspace, type ManageContext, type ManageScope } from "../deps.ts";
import { paginate } from "../page.ts";
import { parseCountryCode } from "../tenancy/policies.ts";
import { isoTime } from "../views.ts";

const TOKEN_BYTES = 32;

type Mapping = WorkspaceNode["mapping"];

const timeOrNull = (atMs: number | null | undefined) => (atMs == null ? null : isoTime(atMs));

export function attestationView({ level, name, reason, atMs, recordedBy, endedAtMs }: LevelAttestation) {
  return { level, name, reason, at: isoTime(atMs), recorded_by: recordedBy, ended_at: timeOrNull(endedAtMs) };
}

function rowView(context: ManageContext, node: WorkspaceNode) {
  const { live, inFlight, latencyMs, openCircuit, lastError, lastSeenAtMs } = context.nodes.registry.statusOf(node.id);
  const announced = live?.announcement;
  const { agentVersion } = context.nodes;
  const { level, reason } = nodeLevel(node);
  const attestation = attestationOf(node);
  return {
    id: node.id,
    name: node.name,
    country: node.country,
    level,
    level_reason: reason,
    attestation: attestation === undefined ? null : attestationView(attestation),
    state: live === undefined ? "offline" : openCircuit === null ? "connected" : "set_aside",
    created_at: isoTime(node.createdAtMs),
    created_by: node.createdBy,
    last_seen_at: timeOrNull(live === undefined ? lastSeenAtMs : context.clock.nowMs()),
    connected_at: timeOrNull(live?.connectedAtMs),
    instance: live === undefined ? null : (live.instance ?? context.nodes.instance),
    address: live?.address ?? null,
    agent: announced?.agent ?? null,
    agent_update: announced === undefined || announced.agent === agentVersion ? null : agentVersion,
    server: announced?.server ?? null,
    models: announced?.models.map(({ id }) => id) ?? [],
    running: inFlight,
    capacity: announced?.capacity ?? null,
    latency_ms: latencyMs === null ? null : Math.round(latencyMs * 10) / 10,
    set_aside: openCircuit === null ? null : { until: isoTime(openCircuit.untilMs), reason: openCircuit.reason },
    last_error: lastError === null ? null : { at: isoTime(lastError.atMs), message: lastError.message },
  };
}

function nodeView(context: ManageContext, node: WorkspaceNode) {
  const models = context.nodes.registry.statusOf(node.id).live?.announcement.models ?? [];
  const setSurfaces = (id: string) => (Object.hasOwn(node.surfaces, id) ? node.surfaces[id] : undefined);
  const mappedTo = (id: string) => (Object.hasOwn(node.mapping, id) ? (node.mapping[id] ?? null) : null);
  return {
    ...rowView(context, node),
    mapping: node.mapping,
    surfaces: node.surfaces,
    attestations: node.attestations.map(attestationView),
    served: models.map((model) => ({
      id: model.id,
      model: nodeModelId(node, model.id),
      mapped_to: mappedTo(model.id),
      surfaces: setSurfaces(model.id) ?? model.surfaces,
      announced_surfaces: model.surfaces,
      context_tokens: model.context_tokens,
      max_output_tokens: model.max_output_tokens,
      tools: model.tools,
      image_input: model.image_input,
      reasoning: model.reasoning,
    })),
  };
}

/** A mapping's targets must be chat, embedding or rerank models of the catalogue, each once: a node is one endpoint per model. */
function checkMapping(context: ManageContext, mapping: Mapping): void {
  const mapped = new Set<string>();
  for (const id of Object.values(mapping)) {
    const model = context.snapshot().models.get(id);
    if (model === undefined)
      throw invalidValue("mapping", `must be a catalogue model: the catalogue has no "${printable(id)}"`);
    if (!model.surfaces.some((surface) => isChatLike(surface) || surface === "embeddings" || surface === "rerank"))
      throw invalidValue(
        "mapping",
        `must be a model for chat, embeddings or reranking: "${id}" serves ${model.surfaces.join(" and ")} only`,
      );
    if (mapped.has(id)) throw invalidValue("mapping", `must not map two models to "${printable(id)}"`);
    mapped.add(id);
  }
}

function findNode(context: ManageContext, workspace: Workspace, nameOrId: string | undefined): WorkspaceNode {
  const node = context.nodes.registry
    .listByWorkspace(workspace.id)
    .find(({ id, name }) => id === nameOrId || name === nameOrId);
  if (node !== undefined) return node;
  throw fault("not_found", { message: `Workspace ${workspace.slug} has no node "${printable(nameOrId)}".` });
}

function newToken(): { readonly token: string; readonly digest: string } {
  const token = `${NODE_TOKEN_PREFIX}${randomToken(TOKEN_BYTES)}`;
  return { token, digest: sha256Hex(token) };
}

function newNodeConflict(context: ManageContext, workspace: Workspace, name: string): Fault | undefined {
  const there = context.nodes.registry.listByWorkspace(workspace.id);
  if (there.some((node) => node.name === name))
    return fault("conflict", {
      message: `Workspace ${workspace.slug} already has a node "${name}". Choose another name, or rotate its token.`,
      param: "name",
    });
  if (there.length >= context.nodes.max)
    return fault("conflict", {
      message:
        context.nodes.max === 0
          ? "Nodes are disabled on this gateway (GATEWAY_NODES_MAX is 0). Ask the operator."
          : `A workspace can have at most ${pluralize(context.nodes.max, "node")} (GATEWAY_NODES_MAX). Remove one first.`,
    });
  return undefined;
}

type NodeInput = Pick<WorkspaceNode, "name" | "country" | "mapping" | "surfaces">;

async function createNode(scope: ManageScope, workspace: Workspace, input: NodeInput) {
  const refusal = newNodeConflict(scope, workspace, input.name);
  if (refusal !== undefined) throw refusal;
  checkMapping(scope, input.mapping);
  const { token, digest } = newToken();
  const node: WorkspaceNode = {
    ...input,
    id: scope.ids.next("node_"),
    workspaceId: workspace.id,
    digest,
    createdAtMs: scope.clock.nowMs(),
    createdBy: scope.auditActor,
    lastSeenAtMs: null,
    attestations: [],
  };
  await saveNode(scope, node, "node.create", { ...input });
  return { ...nodeView(scope, node), token };
}

/** Writes SQL, then the registry that the tunnel and the next request read. */
async function saveNode(
  scope: ManageScope,
  node: WorkspaceNode,
  action: string,
  detail: Readonly<Record<string, unknown>>,
) {
  await commitWithAudit(scope, async ({ nodes }) => {
    await nodes.save(node);
    return { answer: null, audit: { action, workspaceId: node.workspaceId, target: node.id, detail } };
  });
  scope.nodes.registry.upsert(node);
}

async function changeNode(
  scope: ManageScope,
  before: WorkspaceNode,
  input: Partial<Pick<WorkspaceNode, "country" | "mapping" | "surfaces">>,
) {
  if (input.mapping !== undefined) checkMapping(scope, input.mapping);
  const isMoved = input.country !== undefined && input.country !== before.country;
  const node: WorkspaceNode = {
    ...before,
    ...input,
    // The attestation was made for a machine in the country before.
    attestations: isMoved ? endAttestation(before.attestations, scope.clock.nowMs()) : before.attestations,
  };
  await saveNode(scope, node, "node.change", {
    name: node.name,
    before: changeableFields(before),
    after: changeableFields(node),
  });
  return nodeView(scope, node);
}

function changeableFields(node: WorkspaceNode) {
  const { country, mapping, surfaces } = node;
  return { country, level: nodeLevel(node).level, mapping, surfaces };
}

type AttestationInput = Pick<LevelAttestation, "level" | "name" | "reason">;

async function attestNode(scope: ManageScope, before: WorkspaceNode, input: AttestationInput) {
  const { level: floor, reason } = nodeLevel({ country: before.country, attestations: [] });
  if (floor !== "L1")
    throw fault("conflict", {
      message: `The level ${input.level} includes a location in the EEA, and the node ${before.name} has level ${floor}: ${reason}. Declare its country first.`,
      param: "level",
    });
  const nowMs = scope.clock.nowMs();
  const attestation: LevelAttestation = { ...input, atMs: nowMs, recordedBy: scope.auditActor, endedAtMs: null };
  const attestations = [...endAttestation(before.attestations, nowMs), attestation].slice(-ATTESTATIONS_KEPT_MAX);
  const node: WorkspaceNode = { ...before, attestations };
  await saveNode(scope, node, "node.attest", {
    name: node.name,
    country: node.country,
    before: nodeLevel(before).level,
    attestation: attestationView(attestation),
  });
  return nodeView(scope, node);
}

async function withdrawAttestation(scope: ManageScope, before: WorkspaceNode) {
  const attestation = attestationOf(before);
  if (attestation === undefined)
    throw fault("conflict", { message: `The node ${before.name} has no attestation in force.` });
  const node: WorkspaceNode = {
    ...before,
    attestations: endAttestation(before.attestations, scope.clock.nowMs()),
  };
  await saveNode(scope, node, "node.withdraw_attestation", {
    name: node.name,
    after: nodeLevel(node).level,
    attestation: attestationView(attestation),
  });
  return nodeView(scope, node);
}

async function rotateNode(scope: ManageScope, before: WorkspaceNode) {
  const { token, digest } = newToken();
  const node: WorkspaceNode = { ...before, digest };
  await saveNode(scope, node, "node.rotate", { name: node.name });
  return { ...nodeView(scope, node), token };
}

async function removeNode(scope: ManageScope, { id, name, workspaceId }: WorkspaceNode) {
  await commitWithAudit(scope, async ({ nodes }) => {
    await nodes.remove(id);
    return { answer: null, audit: { action: "node.remove", workspaceId, target: id, detail: { name } } };
  });
  scope.nodes.registry.remove(id);
  return { id, name, removed: true };
}

const parseCountry = (country: string | null | undefined) =>
  country == null ? null : parseCountryCode("country", country);

export function nodeHandlers(context: ManageContext): Record<string, Handler> {
  const nodeOf = ({ params }: Exchange) =>
    findNode(context, findWorkspace(context, params["workspace"]), params["node"]);
  return {
    manageListNodes: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const { rows, next } = paginate(context.nodes.registry.listByWorkspace(workspace.id), limit, cursor);
      return { status: 200, json: { data: rows.map((node) => rowView(context, node)), next } };
    }),
    manageShowNode: buffered(async (exchange) => ({ status: 200, json: nodeView(context, nodeOf(exchange)) })),
    manageCreateNode: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      const { name, country, mapping, surfaces } = await readBody(exchange, NodeCreate);
      const input = { name, country: parseCountry(country), mapping: mapping ?? {}, surfaces: surfaces ?? {} };
      return { status: 201, json: await scope.serialized(() => createNode(scope, workspace, input)) };
    }),
    manageChangeNode: mutation(context, async (exchange, scope) => {
      nodeOf(exchange);
      const { country, mapping, surfaces } = await readBody(exchange, NodePatch);
      const input = {
        ...(country === undefined ? {} : { country: parseCountry(country) }),
        ...(mapping === undefined ? {} : { mapping: mapping ?? {} }),
        ...(surfaces === undefined ? {} : { surfaces: surfaces ?? {} }),
      };
      return { status: 200, json: await scope.serialized(() => changeNode(scope, nodeOf(exchange), input)) };
    }),
    manageAttestNode: mutation(context, async (exchange, scope) => {
      nodeOf(exchange);
      const input = await readBody(exchange, NodeAttest);
      return { status: 200, json: await scope.serialized(() => attestNode(scope, nodeOf(exchange), input)) };
    }),
    manageWithdrawAttestation: mutation(context, async (exchange, scope) => ({
      status: 200,
      json: await scope.serialized(() => withdrawAttestation(scope, nodeOf(exchange))),
    })),
    manageRotateNode: mutation(context, async (exchange, scope) => ({
      status: 200,
      json: await scope.serialized(() => rotateNode(scope, nodeOf(exchange))),
    })),
    manageRemoveNode: mutation(context, async (exchange, scope) => ({
      status: 200,
      json: await scope.serialized(() => removeNode(scope, nodeOf(exchange))),
    })),
  };
}
