import type { z } from "zod";
import { fault, invalidValue } from "../../../contract/faults.ts";
import { CLASS_NAME } from "../../../contract/schemas/data-class-rules.ts";
import { CustomClassPut, DataClassTrial, type DetectorPut } from "../../../contract/schemas/manage-data-classes.ts";
import { EEA } from "../../../domain/catalogue/levels.ts";
import { type CustomClassDefinition, definitionProblem } from "../../../domain/data-classes/custom-class.ts";
import type { ExternalDetector } from "../../../domain/data-classes/external-detector.ts";
import { type CustomClass, isReservedClassName } from "../../../domain/tenancy/custom-class.ts";
import { type DataClassRules, writtenRules } from "../../../domain/tenancy/data-class-rules.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { pluralize } from "../../../kit/pluralize.ts";
import { buffered, type Handler } from "../../exchange.ts";
import type { ContentInspection } from "../../pipeline/content-inspection.ts";
import { levelOfDetector } from "../../pipeline/external-detectors.ts";
import { tryContent } from "../../pipeline/try-content.ts";
import { printable } from "../../printable.ts";
import { readBody } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, findWorkspace, type ManageContext, type ManageScope } from "../deps.ts";
import { knownNamesFor, requireDataClasses } from "../known-names.ts";
import { isoTime } from "../views.ts";

function customClassView(context: ManageContext, workspace: Workspace, one: CustomClass) {
  return {
    name: one.name,
    version: one.version,
    terms: one.termCount,
    patterns: one.patternCount,
    changed_at: isoTime(one.changedAtMs),
    changed_by: one.changedBy,
    used_by: usesOf(context, workspace, one.name),
  };
}

/** The rules that name a class; those of requests are not known. */
function usesOf({ directory }: ManageContext, workspace: Workspace, name: string): string[] {
  const has = (rules: DataClassRules | undefined) => rules?.[name] !== undefined;
  const keys = directory
    .keys(workspace.id)
    .filter(({ policy, state }) => state !== "revoked" && has(policy?.dataClasses));
  const routers = directory.routers(workspace.id).filter(({ spec }) => has(spec.dataClasses));
  return [
    ...(has(workspace.policy.dataClasses) ? ["workspace"] : []),
    ...keys.map(({ id }) => `key ${id}`),
    ...routers.map(({ slug }) => `router ${slug}`),
  ];
}

function findCustomClass(context: ManageContext, workspace: Workspace, name: string | undefined): CustomClass {
  const found = name === undefined ? undefined : context.customClasses.registry.of(workspace.id).get(name);
  if (found !== undefined) return found;
  throw fault("not_found", {
    message: `Workspace ${workspace.slug} defines no data class "${printable(name)}". \`gateway data-class show ${workspace.slug}\` lists its classes.`,
  });
}

function detectorFrom(put: z.infer<typeof DetectorPut>, { clock }: ManageScope): ExternalDetector {
  const { url, language, country, attested, entities, token } = put;
  if (attested != null && !EEA.has(country))
    throw invalidValue(
      "detector.attested",
      `must be omitted: ${country} is outside the EEA, where no level above L0 is met`,
    );
  return {
    url,
    language,
    country,
    attested: attested == null ? null : { ...attested, atMs: clock.nowMs() },
    zeroDataRetention: put.zero_data_retention,
    noTraining: put.no_training,
    entities,
    minScore: put.min_score,
    token: token ?? null,
    timeoutMs: put.timeout_ms,
  };
}

/** Without its token. */
function detectorView(detector: ExternalDetector) {
  const { url, language, country, attested, entities } = detector;
  return {
    url,
    language,
    country,
    level: levelOfDetector(detector),
    attested: attested && {
      level: attested.level,
      name: attested.name,
      reason: attested.reason,
      at: isoTime(attested.atMs),
    },
    zero_data_retention: detector.zeroDataRetention,
    no_training: detector.noTraining,
    entities,
    min_score: detector.minScore,
    timeout_ms: detector.timeoutMs,
    has_token: detector.token !== null,
  };
}

/** Where texts may go from now on; the rest of a URL may be secret. */
function auditedDetector(detector: ExternalDetector) {
  const { url, country, attested } = detector;
  const vouched = attested === null ? {} : { attested_by: attested.name, reason: attested.reason };
  return { host: new URL(url).host, country, level: levelOfDetector(detector), ...vouched };
}

function requireName(name: string | undefined): string {
  if (name === undefined || !CLASS_NAME.test(name))
    throw invalidValue("class", "must be 2 to 40 lowercase letters, digits and hyphens, and begin with a letter");
  if (isReservedClassName(name)) throw invalidValue("class", `must not be "${name}", which the gateway uses itself`);
  return name;
}

async function putCustomClass(
  scope: ManageScope,
  workspaceId: string,
  name: string,
  definition: CustomClassDefinition,
): Promise<CustomClass> {
  const { registry, limits, seal } = scope.customClasses;
  const classes = registry.of(workspaceId);
  const before = classes.get(name);
  if (before === undefined && classes.size >= limits.classes)
    throw fault("conflict", {
      message:
        limits.classes === 0
          ? "Own data classes are disabled on this gateway (GATEWAY_DATA_CLASSES_MAX is 0). Ask the operator."
          : `A workspace can define at most ${pluralize(limits.classes, "data class", "data classes")} (GATEWAY_DATA_CLASSES_MAX). Remove one first.`,
    });
  const customClass: CustomClass = {
    workspaceId,
    name,
    version: (before?.version ?? 0) + 1,
    termCount: definition.terms.length,
    patternCount: definition.patterns.length,
    changedAtMs: scope.clock.nowMs(),
    changedBy: scope.auditActor,
  };
  const sealed = await seal(customClass, definition);
  await commitWithAudit(scope, async ({ customClasses }) => {
    await customClasses.save(customClass, sealed);
    const detail = {
      version: customClass.version,
      terms: customClass.termCount,
      patterns: customClass.patternCount,
      ...(definition.detector !== undefined && { detector: auditedDetector(definition.detector) }),
    };
    return { answer: null, audit: { action: "data_class.define", workspaceId, target: name, detail } };
  });
  const others = [...registry.of(workspaceId).values()].filter((one) => one.name !== name);
  registry.replace(workspaceId, [...others, customClass]);
  return customClass;
}

async function removeCustomClass(scope: ManageScope, workspace: Workspace, name: string | undefined): Promise<string> {
  const customClass = findCustomClass(scope, workspace, name);
  const uses = usesOf(scope, workspace, customClass.name);
  if (uses.length > 0)
    throw fault("conflict", {
      message: `Rules name the data class ${customClass.name}: ${uses.slice(0, 5).join(", ")}. Without it they would refuse every request. Remove them first.`,
    });
  await commitWithAudit(scope, async ({ customClasses }) => {
    await customClasses.remove(workspace.id, customClass.name);
    const detail = { version: customClass.version };
    const audit = { action: "data_class.remove", workspaceId: workspace.id, target: customClass.name, detail };
    return { answer: null, audit };
  });
  const { registry } = scope.customClasses;
  const others = [...registry.of(workspace.id).values()].filter((one) => one.name !== customClass.name);
  registry.replace(workspace.id, others);
  return customClass.name;
}

export function dataClassHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageListCustomClasses: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const classes = [...context.customClasses.registry.of(workspace.id).values()];
      const sorted = classes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const data = sorted.map((one) => customClassView(context, workspace, one));
      const rules = writtenRules(workspace.policy.dataClasses ?? {});
      return { status: 200, json: { rules, data, next: null } };
    }),
    manageShowCustomClass: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const one = findCustomClass(context, workspace, exchange.params["class"]);
      const read = await context.customClasses.read(one);
      if (read === undefined) throw fault("not_found", { message: `The data class ${one.name} was removed.` });
      const { terms, patterns, detector } = read;
      const definition = { terms, patterns, detector: detector === undefined ? null : detectorView(detector) };
      return { status: 200, json: { ...customClassView(context, workspace, one), definition } };
    }),
    managePutCustomClass: mutation(context, async (exchange, scope) => {
      const { id } = findWorkspace(scope, exchange.params["workspace"]);
      const name = requireName(exchange.params["class"]);
      const { terms = [], patterns = [], detector: put } = await readBody(exchange, CustomClassPut);
      const detector = put == null ? undefined : detectorFrom(put, scope);
      const definition = { terms: [...new Set(terms)], patterns: [...new Set(patterns)], detector };
      const problem = await definitionProblem({ ...definition, terms, patterns }, scope.customClasses.limits);
      if (problem !== undefined) throw invalidValue(problem.path, problem.problem);
      const urlProblem = detector && (await scope.customClasses.urlProblem(detector.url));
      if (urlProblem !== undefined) throw invalidValue("detector.url", urlProblem);
      const saved = await scope.serialized(() => putCustomClass(scope, id, name, definition));
      return { status: 200, json: customClassView(scope, findWorkspace(scope, id), saved) };
    }),
    manageDeleteCustomClass: mutation(context, async (exchange, scope) => {
      const { id } = findWorkspace(scope, exchange.params["workspace"]);
      const name = await scope.serialized(() =>
        removeCustomClass(scope, findWorkspace(scope, id), exchange.params["class"]),
      );
      return { status: 200, json: { name, workspace: findWorkspace(scope, id).slug, removed: true } };
    }),
    manageTryDataClasses: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const { text, data_classes: draft } = await readBody(exchange, DataClassTrial);
      const rules =
        draft == null
          ? (workspace.policy.dataClasses ?? {})
          : requireDataClasses("data_classes", draft, knownNamesFor(context, workspace.id));
      const { registry, externalDetectors } = context.customClasses;
      const detectors = await registry.detectors(workspace.id);
      const key = await context.planning.standInKey(workspace.id);
      const policy = { ...workspace.policy, dataClasses: rules };
      const readExternally = (inspection: ContentInspection) =>
        externalDetectors.read(inspection, () => policy, workspace.id);
      return { status: 200, json: await tryContent(text, rules, { detectors, readExternally }, key) };
    }),
  };
}
