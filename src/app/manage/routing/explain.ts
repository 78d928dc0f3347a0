import { Fault } from "../../../contract/faults.ts";
import { ExplainAsk } from "../../../contract/schemas/manage-routing.ts";
import type { ApiKey } from "../../../domain/tenancy/key.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { type ParsedBody, parseJsonText, patchMembers } from "../../../kit/json.ts";
import { formatNanos } from "../../../kit/money.ts";
import { decodeWith, invalidValue, readJson } from "../../body.ts";
import { type Handler, whole } from "../../exchange.ts";
import { type Explained, explain } from "../../pipeline/explain.ts";
import type { DecodedChat } from "../../pipeline/run.ts";
import { type ExplainedSurface, findWorkspace, type Room, short } from "../deps.ts";
import { policyView, routerName } from "../views.ts";

/** A request to look at: as the caller would send it, to the model that is asked about. */
type Question = {
  readonly workspace: Workspace;
  readonly key: ApiKey | undefined;
  readonly surface: ExplainedSurface;
  readonly model: string | undefined;
  readonly text: string;
};

/** The caller's own text but for the model. */
function withModel(text: string, model: string | undefined): string {
  if (model === undefined) return text;
  const parsed = parseJsonText(text);
  return "problem" in parsed ? text : patchMembers(parsed, [{ key: "model", json: JSON.stringify(model) }]);
}

function textAt({ text, members }: ParsedBody, name: string): string {
  const span = members.get(name);
  return span === undefined ? "{}" : text.slice(span.valueStart, span.valueEnd);
}

function keyOf(room: Room, workspace: Workspace, id: string | null | undefined): ApiKey | undefined {
  if (id === null || id === undefined) return undefined;
  const key = room.directory.key(id);
  if (key?.workspaceId === workspace.id) return key;
  throw invalidValue("key", `workspace ${workspace.slug} has no key with the id "${short(id)}"`);
}

async function answer(room: Room, question: Question) {
  const { workspace, key, surface, text, model } = question;
  const reader = room.readers[surface];
  if (reader === undefined) throw invalidValue("surface", `requests of ${surface} cannot be explained here`);
  let decoded: DecodedChat;
  try {
    decoded = await reader(Buffer.from(withModel(text, model)));
  } catch (error) {
    // What is wrong with the request itself is what its caller would be told.
    if (!(error instanceof Fault)) throw error;
    return { ...headOf(question, model ?? ""), ...unread(room, question, error) };
  }
  const { errand, inCallersWords } = decoded;
  const explained = explain(room.planning, { surface, workspace, keyId: key?.id ?? null }, errand, key?.policy ?? null);
  const refusal = explained.refusal === null ? null : (inCallersWords?.(explained.refusal) ?? explained.refusal);
  return { ...headOf(question, errand.outline.model), ...viewOf({ ...explained, refusal }, errand.inputTokens) };
}

function headOf({ surface, workspace }: Question, model: string) {
  return { model, surface, currency: workspace.currency };
}

/** A request that cannot be read has no plan, only rules that would have held. */
function unread(room: Room, { workspace, key }: Question, problem: Fault) {
  const policy = room.planning.policyOf(workspace.id, key?.id ?? null) ?? workspace.policy;
  const nothing = { decision: null, routeReason: null, router: undefined, thinking: undefined, rules: [] } as const;
  return viewOf({ ...nothing, policy, refusal: problem }, 0);
}

function viewOf(explained: Explained, inputTokens: number) {
  const { decision, refusal, routeReason, router, thinking } = explained;
  const candidates = (decision?.candidates ?? []).map((candidate) => ({
    ...candidate,
    expected_cost: costOf(candidate.scores?.["expected_cost_nanos"]),
  }));
  const chosen = routeReason === null ? undefined : candidates.find(({ endpoint }) => endpoint === decision?.order[0]);
  return {
    refusal: refusal === null ? null : refusalView(refusal),
    route_reason: routeReason,
    router: router === undefined ? null : { slug: router.slug, version: router.version },
    expected:
      chosen === undefined
        ? null
        : {
            endpoint: chosen.endpoint,
            model: chosen.model,
            input_tokens: inputTokens,
            output_tokens: chosen.scores?.["expected_output_tokens"] ?? null,
            cost: chosen.expected_cost,
            latency_ms: chosen.scores?.["expected_latency_ms"] ?? null,
          },
    reasoning:
      thinking === undefined
        ? null
        : { effort: thinking.by === "provider_default" ? null : thinking.effort, chosen_by: thinking.by },
    order: decision?.order ?? [],
    candidates,
    weights: decision?.weights ?? null,
    session: decision?.session ?? null,
    policy: policyView(explained.policy),
    rules: rulesView(explained),
  };
}

function costOf(nanos: number | undefined): string | null {
  return nanos === undefined ? null : formatNanos(BigInt(Math.round(nanos)));
}

function refusalView({ status, code, message, param }: Fault) {
  return { status, code, message, param: param ?? null };
}

const RULE_NAMES = {
  floor: "floor",
  countries: "countries",
  zeroDataRetention: "zero_data_retention",
  noTraining: "no_training",
  blockedProviders: "blocked_providers",
  allowedModels: "allowed_models",
} as const;

function rulesView({ policy, rules, router }: Explained) {
  const shown = policyView(policy);
  const named = rules.map(({ rule, from }) => ({
    rule: RULE_NAMES[rule],
    value: shown[RULE_NAMES[rule]],
    from,
  }));
  const qualityFloor = router?.spec.qualityFloor ?? null;
  return qualityFloor === null
    ? named
    : [...named, { rule: "quality_floor", value: qualityFloor, from: ["router"] as const }];
}

export function explainHandlers(room: Room): Record<string, Handler> {
  return {
    manageExplainRouting: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      const body = await readJson(exchange);
      const { model, surface, key } = decodeWith(ExplainAsk, body.value);
      const isRouter = model != null && room.directory.router(workspace.id, model) !== undefined;
      const question: Question = {
        workspace,
        key: keyOf(room, workspace, key),
        surface: surface ?? "chat",
        model: isRouter ? routerName(workspace, model) : (model ?? undefined),
        text: textAt(body, "request"),
      };
      return { status: 200, json: await answer(room, question) };
    }),
  };
}
