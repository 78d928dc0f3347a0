import { fault, invalidValue } from "../../../contract/faults.ts";
import { CLASS_NAME } from "../../../contract/schemas/data-class-rules.ts";
import { CustomClassPut, DataClassTrial } from "../../../contract/schemas/manage-data-classes.ts";
import { type CustomClassDefinition, definitionProblem } from "../../../domain/data-classes/custom-class.ts";
import { type CustomClass, isReservedClassName } from "../../../domain/tenancy/custom-class.ts";
import { type DataClassRules, writtenRules } from "../../../domain/tenancy/data-class-rules.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { pluralize } from "../../../kit/pluralize.ts";
import { buffered, type Handler } from "../../exchange.ts";
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
      const definition = await context.customClasses.read(one);
      if (definition === undefined) throw fault("not_found", { message: `The data class ${one.name} was removed.` });
      return { status: 200, json: { ...customClassView(context, workspace, one), definition } };
    }),
    managePutCustomClass: mutation(context, async (exchange, scope) => {
      const { id } = findWorkspace(scope, exchange.params["workspace"]);
      const name = requireName(exchange.params["class"]);
      const { terms = [], patterns = [] } = await readBody(exchange, CustomClassPut);
      const definition = { terms: [...new Set(terms)], patterns: [...new Set(patterns)] };
      const problem = await definitionProblem({ terms, patterns }, scope.customClasses.limits);
      if (problem !== undefined) throw invalidValue(problem.path, problem.problem);
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
      const detectors = await context.customClasses.registry.detectors(workspace.id);
      const key = await context.planning.standInKey(workspace.id);
      return { status: 200, json: await tryContent(text, rules, detectors, key) };
    }),
  };
}
