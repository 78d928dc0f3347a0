import type { z } from "zod";
import { Fault, invalidValue } from "../../../contract/faults.ts";
import { ExplainAsk } from "../../../contract/schemas/manage-routing.ts";
import { canonicalModelId } from "../../../domain/catalogue/model-names.ts";
import type { ApiKey } from "../../../domain/tenancy/key.ts";
import { AUTO_ROUTER, type Router } from "../../../domain/tenancy/router.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { type ParsedBody, parseJsonText, patchMembers } from "../../../kit/json.ts";
import { formatNanos } from "../../../kit/money.ts";
import { buffered, type Exchange, type Handler } from "../../exchange.ts";
import type { ChatInferenceRequest } from "../../pipeline/chat-request.ts";
import type { DecodedChatRequest } from "../../pipeline/decode.ts";
import { explainRouting, type RoutingExplanation } from "../../pipeline/explain-routing.ts";
import type { PlanningDeps } from "../../pipeline/planned-request.ts";
import { printable } from "../../printable.ts";
import { decodeWith, readJson } from "../../request-input.ts";
import { type ExplainedSurface, findWorkspace, type ManageContext } from "../deps.ts";
import { knownNamesFor } from "../known-names.ts";
import { ownMemberId } from "../membership.ts";
import { policyView, RULE_NAMES, routerName } from "../views.ts";
import { findRouter, unsavedRouter } from "./routers.ts";

type ExplainInput = z.infer<typeof ExplainAsk>;

/** A request to explain, with the model to explain it for. */
type ExplainRequest = {
  readonly workspace: Workspace;
  readonly key: ApiKey | undefined;
  readonly surface: ExplainedSurface;
  readonly model: string | undefined;
  readonly text: string;
  /** The gateway's planning, with an unsaved router if there is one. */
  readonly planning: PlanningDeps;
};

/** The request text with the model replaced. */
function withModel(text: string, model: string | undefined): string {
  if (model === undefined) return text;
  const parsed = parseJsonText(text);
  return "problem" in parsed ? text : patchMembers(parsed, [{ key: "model", json: JSON.stringify(model) }]);
}

function textAt({ text, members }: ParsedBody, name: string): string {
  const span = members.get(name);
  return span === undefined ? "{}" : text.slice(span.valueStart, span.valueEnd);
}

/** A member may only use their own keys: other keys have policies that they may not see. */
function findOwnedKey(context: ManageContext, workspace: Workspace, exchange: Exchange, id: string | null | undefined) {
  if (id === null || id === undefined) return undefined;
  const key = context.directory.key(id);
  const own = ownMemberId(exchange);
  if (key?.workspaceId === workspace.id && (own === undefined || key.memberId === own)) return key;
  throw invalidValue(
    "key",
    `must be a key of the workspace: ${workspace.slug} has no key with the id "${printable(id)}"`,
  );
}

async function explainRequest(context: ManageContext, request: ExplainRequest) {
  const { workspace, key, surface, text, model, planning } = request;
  const decode = context.decoders[surface];
  if (decode === undefined)
    throw invalidValue("surface", `must be a chat surface: requests of ${surface} cannot be explained`);
  let decoded: DecodedChatRequest;
  try {
    decoded = await decode(Buffer.from(withModel(text, model)));
  } catch (error) {
    // A decoding fault is the explanation, as the caller would get it.
    if (!(error instanceof Fault)) throw error;
    return { ...headerView(request, model ?? ""), ...unreadableView(context, request, error) };
  }
  const { toCallerParameterNames } = decoded;
  let inference: ChatInferenceRequest = decoded.request;
  const explainPlan = () =>
    explainRouting(planning, { surface, workspace, keyId: key?.id ?? null }, inference, key?.policy ?? null);
  let explained = await explainPlan();
  if (explained.tooLong) {
    inference = await inference.withCountedInput(context.planning.tokenCounter);
    explained = await explainPlan();
  }
  const refusal =
    explained.refusal === null ? null : (toCallerParameterNames?.(explained.refusal) ?? explained.refusal);
  return {
    ...headerView(request, canonicalModelId(inference.outline.model, planning.catalogue.snapshot)),
    ...explanationView({ ...explained, refusal }, inference.inputTokens),
  };
}

function headerView({ surface, workspace }: ExplainRequest, model: string) {
  return { model, surface, currency: workspace.currency };
}

/** A request that cannot be decoded has no plan, only the policy that would apply. */
function unreadableView(context: ManageContext, { workspace, key }: ExplainRequest, problem: Fault) {
  const policy = context.planning.policyOf(workspace.id, key?.id ?? null) ?? workspace.policy;
  const nothing = {
    decision: null,
    routeReason: null,
    router: undefined,
    reasoning: undefined,
    rules: [],
    tooLong: false,
  } as const;
  return explanationView({ ...nothing, policy, refusal: problem }, 0);
}

function explanationView(explained: RoutingExplanation, inputTokens: number) {
  const { decision, refusal, routeReason, router, reasoning } = explained;
  const candidates = (decision?.candidates ?? []).map((candidate) => ({
    ...candidate,
    expected_cost: costOf(candidate.scores?.["expected_cost_nanos"]),
  }));
  const chosen = routeReason === null ? undefined : candidates.find(({ endpoint }) => endpoint === decision?.order[0]);
  return {
    refusal: refusal === null ? null : refusalView(refusal),
    route_reason: routeReason,
    router: router === undefined ? null : { slug: router.slug, version: router.version === 0 ? null : router.version },
    nodes: router?.spec.nodes ?? null,
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
      reasoning === undefined
        ? null
        : { effort: reasoning.by === "provider_default" ? null : reasoning.effort, chosen_by: reasoning.by },
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

function rulesView({ policy, rules, router }: RoutingExplanation) {
  const view = policyView(policy);
  const ruleViews = rules.map(({ rule, from }) => ({
    rule: RULE_NAMES[rule],
    value: view[RULE_NAMES[rule]],
    from,
  }));
  const qualityFloor = router?.spec.qualityFloor ?? null;
  return qualityFloor === null
    ? ruleViews
    : [...ruleViews, { rule: "quality_floor", value: qualityFloor, from: ["router"] as const }];
}

/** The slug of an unsaved router without a name. */
const DRAFT = "draft";

function parseDraft(context: ManageContext, workspace: Workspace, { model, spec }: ExplainInput): Router | undefined {
  if (spec === null || spec === undefined) return undefined;
  const prefix = routerName(workspace, "");
  const name = model ?? DRAFT;
  const slug = name.startsWith(prefix) ? name.slice(prefix.length) : name;
  return unsavedRouter(context, workspace, slug, spec);
}

function planningWithDraft(planning: PlanningDeps, draft: Router | undefined): PlanningDeps {
  if (draft === undefined) return planning;
  const { workspaceId, slug } = draft;
  return {
    ...planning,
    routerOf: (ownerId, name) => (ownerId === workspaceId && name === slug ? draft : planning.routerOf(ownerId, name)),
  };
}

function requestedModel(
  context: ManageContext,
  workspace: Workspace,
  { model }: ExplainInput,
  draft: Router | undefined,
): string | undefined {
  if (draft !== undefined) return routerName(workspace, draft.slug);
  if (model === null || model === undefined) return undefined;
  return isModelName(context, workspace, model)
    ? model
    : routerName(workspace, findRouter(context, workspace, model).slug);
}

/** Whether a name is a model id, possibly an unknown one, and no router of the workspace. */
function isModelName(context: ManageContext, { id }: Workspace, word: string): boolean {
  if (context.directory.router(id, word) !== undefined) return false;
  return word === AUTO_ROUTER || word.includes("/") || knownNamesFor(context, id).modelIds(word).length > 0;
}

export function explainHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageExplainRouting: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const body = await readJson(exchange);
      const input = decodeWith(ExplainAsk, body.value);
      const draft = parseDraft(context, workspace, input);
      const request: ExplainRequest = {
        workspace,
        key: findOwnedKey(context, workspace, exchange, input.key),
        surface: input.surface ?? "chat",
        model: requestedModel(context, workspace, input, draft),
        text: textAt(body, "request"),
        planning: planningWithDraft(context.planning, draft),
      };
      return { status: 200, json: await explainRequest(context, request) };
    }),
  };
}
