import type { z } from "zod";
import { Fault, invalidValue } from "../../../contract/faults.ts";
import { ExplainAsk } from "../../../contract/schemas/manage-routing.ts";
import type { ApiKey } from "../../../domain/tenancy/key.ts";
import { AUTO_ROUTER, type Router } from "../../../domain/tenancy/router.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { type ParsedBody, parseJsonText, patchMembers } from "../../../kit/json.ts";
import { formatNanos } from "../../../kit/money.ts";
import { buffered, type Exchange, type Handler } from "../../exchange.ts";
import type { ChatInferenceRequest } from "../../pipeline/chat-request.ts";
import type { DecodedChatRequest } from "../../pipeline/decoded.ts";
import { type Explained, explain } from "../../pipeline/explain-routing.ts";
import type { Planning } from "../../pipeline/plan.ts";
import { printable } from "../../printable.ts";
import { decodeWith, readJson } from "../../request-input.ts";
import { type ExplainedSurface, findWorkspace, type ManageContext } from "../deps.ts";
import { knownNamesFor } from "../known-names.ts";
import { ownMemberId } from "../membership.ts";
import { policyView, routerName } from "../views.ts";
import { findRouter, unsavedRouter } from "./routers.ts";
import { RULE_NAMES } from "./rule-names.ts";

type ExplainInput = z.infer<typeof ExplainAsk>;

/** A request to look at: as the caller would send it, to the model that is asked about. */
type ExplainRequest = {
  readonly workspace: Workspace;
  readonly key: ApiKey | undefined;
  readonly surface: ExplainedSurface;
  readonly model: string | undefined;
  readonly text: string;
  /** As requests are planned, but for a router that is not saved. */
  readonly planning: Planning;
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

/** A member asks for keys of their own: another's has rules that they do not see. */
function findOwnedKey(context: ManageContext, workspace: Workspace, exchange: Exchange, id: string | null | undefined) {
  if (id === null || id === undefined) return undefined;
  const key = context.directory.key(id);
  const own = ownMemberId(exchange);
  if (key?.workspaceId === workspace.id && (own === undefined || key.memberId === own)) return key;
  throw invalidValue("key", `workspace ${workspace.slug} has no key with the id "${printable(id)}"`);
}

async function explainRequest(context: ManageContext, question: ExplainRequest) {
  const { workspace, key, surface, text, model, planning } = question;
  const reader = context.decoders[surface];
  if (reader === undefined) throw invalidValue("surface", `requests of ${surface} cannot be explained here`);
  let decoded: DecodedChatRequest;
  try {
    decoded = await reader(Buffer.from(withModel(text, model)));
  } catch (error) {
    // What is wrong with the request itself is what its caller would be told.
    if (!(error instanceof Fault)) throw error;
    return { ...headerView(question, model ?? ""), ...unreadableView(context, question, error) };
  }
  const { toCallerParameterNames } = decoded;
  let errand: ChatInferenceRequest = decoded.request;
  const explainIt = () =>
    explain(planning, { surface, workspace, keyId: key?.id ?? null }, errand, key?.policy ?? null);
  let explained = explainIt();
  if (explained.tooLong) {
    errand = await errand.withCountedInput(context.planning.tokens);
    explained = explainIt();
  }
  const refusal =
    explained.refusal === null ? null : (toCallerParameterNames?.(explained.refusal) ?? explained.refusal);
  return {
    ...headerView(question, errand.outline.model),
    ...explanationView({ ...explained, refusal }, errand.inputTokens),
  };
}

function headerView({ surface, workspace }: ExplainRequest, model: string) {
  return { model, surface, currency: workspace.currency };
}

/** A request that cannot be read has no plan, only rules that would have held. */
function unreadableView(context: ManageContext, { workspace, key }: ExplainRequest, problem: Fault) {
  const policy = context.planning.policyOf(workspace.id, key?.id ?? null) ?? workspace.policy;
  const nothing = {
    decision: null,
    routeReason: null,
    router: undefined,
    thinking: undefined,
    rules: [],
    tooLong: false,
  } as const;
  return explanationView({ ...nothing, policy, refusal: problem }, 0);
}

function explanationView(explained: Explained, inputTokens: number) {
  const { decision, refusal, routeReason, router, thinking } = explained;
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

/** What an unsaved router is called by when nobody named it. */
const DRAFT = "draft";

function parseDraft(context: ManageContext, workspace: Workspace, { model, spec }: ExplainInput): Router | undefined {
  if (spec === null || spec === undefined) return undefined;
  const prefix = routerName(workspace, "");
  const named = model ?? DRAFT;
  const slug = named.startsWith(prefix) ? named.slice(prefix.length) : named;
  return unsavedRouter(context, workspace, slug, spec);
}

function planningWithDraft(planning: Planning, draft: Router | undefined): Planning {
  if (draft === undefined) return planning;
  const { workspaceId, slug } = draft;
  return {
    ...planning,
    routerOf: (of, asked) => (of === workspaceId && asked === slug ? draft : planning.routerOf(of, asked)),
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

/** Whether a word means something else than a router of the workspace, such as the id of a model, which may be an unknown one. */
function isModelName(context: ManageContext, { id }: Workspace, word: string): boolean {
  if (context.directory.router(id, word) !== undefined) return false;
  return word === AUTO_ROUTER || word.includes("/") || knownNamesFor(context, id).models.has(word);
}

export function explainHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageExplainRouting: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const body = await readJson(exchange);
      const said = decodeWith(ExplainAsk, body.value);
      const draft = parseDraft(context, workspace, said);
      const question: ExplainRequest = {
        workspace,
        key: findOwnedKey(context, workspace, exchange, said.key),
        surface: said.surface ?? "chat",
        model: requestedModel(context, workspace, said, draft),
        text: textAt(body, "request"),
        planning: planningWithDraft(context.planning, draft),
      };
      return { status: 200, json: await explainRequest(context, question) };
    }),
  };
}
