import type { z } from "zod";
import { invalidValue } from "../../../contract/faults.ts";
import { PolicyPatch } from "../../../contract/schemas/manage-tenancy.ts";
import { type Policy, tightenPolicy } from "../../../domain/tenancy/policy.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { readBody } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, findWorkspace, type ManageContext, type TenancyScope } from "../deps.ts";
import { type KnownNames, knownNamesFor, requireDataClasses } from "../known-names.ts";
import { parseCacheRule, policyView } from "../views.ts";

type PolicyInput = z.infer<typeof PolicyPatch>;

/** Only the given fields; `none`, null and the empty list lift a rule. `at` is the path prefix in the body. */
export function parsePolicyChange(input: PolicyInput, names: KnownNames, at = ""): Partial<Policy> {
  const { floor, countries, blocked_providers, allowed_models } = input;
  return {
    ...(floor === undefined ? {} : { floor: floor === "none" ? null : floor }),
    ...(countries === undefined ? {} : { countries: emptyToNull(parseCountries(`${at}countries`, countries ?? [])) }),
    ...(input.zero_data_retention === undefined ? {} : { zeroDataRetention: input.zero_data_retention }),
    ...(input.no_training === undefined ? {} : { noTraining: input.no_training }),
    ...(blocked_providers === undefined
      ? {}
      : {
          blockedProviders: requireProviders(`${at}blocked_providers`, blocked_providers ?? [], names),
        }),
    ...(allowed_models === undefined
      ? {}
      : {
          allowedModels: emptyToNull(requireModels(`${at}allowed_models`, allowed_models ?? [], names)),
        }),
    ...(input.own_nodes === undefined ? {} : { ownNodesExempt: input.own_nodes === "exempt" }),
    ...(input.test_keys === undefined ? {} : { testKeysSimulated: input.test_keys === "simulated" }),
    ...(input.parameters === undefined ? {} : { parameters: input.parameters }),
    ...(input.data_classes === undefined
      ? {}
      : { dataClasses: requireDataClasses(`${at}data_classes`, input.data_classes ?? {}, names) }),
    ...(input.cache === undefined ? {} : { cache: parseCacheRule(input.cache) }),
  };
}

export function emptyToNull(list: readonly string[]): readonly string[] | null {
  return list.length === 0 ? null : list;
}

export function parseCountries(param: string, codes: readonly string[]): readonly string[] {
  return [...new Set(codes.map((code) => parseCountryCode(param, code)))];
}

export function parseCountryCode(param: string, text: string): string {
  const code = text.toUpperCase();
  if (isCountry(code)) return code;
  throw invalidValue(param, `must be ISO 3166-1 country codes such as DE: "${printable(code)}" is not one`);
}

const REGION_NAMES = new Intl.DisplayNames("en", { type: "region", fallback: "none" });
/** Region codes that are not countries. */
const NOT_COUNTRIES = new Set(["AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "ZZ"]);

/** Rejects aliases of other codes (UK, DD), which would match no endpoint. */
function isCountry(code: string): boolean {
  if (NOT_COUNTRIES.has(code) || REGION_NAMES.of(code) === undefined) return false;
  return new Intl.Locale(`und-${code}`).region === code;
}

function requireProviders(param: string, slugs: readonly string[], { providers }: KnownNames): readonly string[] {
  for (const slug of slugs)
    if (!providers.has(slug))
      throw invalidValue(param, `must be in the catalogue: there is no provider "${printable(slug)}"`);
  return [...new Set(slugs)];
}

/** The canonical ids, which requests are compared with. */
export function requireModels(param: string, names: readonly string[], { modelIds }: KnownNames): readonly string[] {
  const found = names.map((name) => {
    const [id, ...others] = modelIds(name);
    if (id === undefined) throw invalidValue(param, `must be in the catalogue: there is no model "${printable(name)}"`);
    if (others.length > 0)
      throw invalidValue(param, `must be one model: "${printable(name)}" names ${[id, ...others].join(", ")}`);
    return id;
  });
  return [...new Set(found)];
}

/** Rules of data classes and of the cache that were cleared are absent, so that no request does anything for them. */
function policyAfter(before: Policy, demands: Partial<Policy>): Policy {
  const { dataClasses = {}, cache = {}, ...policy } = { ...before, ...demands };
  return {
    ...policy,
    ...(Object.keys(dataClasses).length === 0 ? {} : { dataClasses }),
    ...(Object.keys(cache).length === 0 ? {} : { cache }),
  };
}

async function changePolicy(deps: TenancyScope, workspace: Workspace, demands: Partial<Policy>): Promise<Policy> {
  const changed: Workspace = { ...workspace, policy: policyAfter(workspace.policy, demands) };
  const { id } = workspace;
  // During the write both policies apply, so that every request complies with the version that its evidence cites.
  deps.directory.putWorkspace({ ...workspace, policy: tightenPolicy(workspace.policy, changed.policy) });
  const nowMs = deps.clock.nowMs();
  // Switching to zero data retention ends all captures and purges their content, and all cached replies.
  const isStricter = changed.policy.zeroDataRetention && !workspace.policy.zeroDataRetention;
  const ended = await commitWithAudit(deps, async ({ tenancy, captures, cachedReplies }) => {
    await tenancy.saveWorkspace(changed);
    await tenancy.savePolicyVersion({ workspaceId: id, keyId: null, createdAtMs: nowMs, policy: changed.policy });
    const ended = isStricter ? await captures.closeAndPurgeAll(id, nowMs) : undefined;
    if (isStricter) await cachedReplies.purge(id);
    const detail = {
      before: policyView(workspace.policy),
      after: policyView(changed.policy),
      ...(ended === undefined ? {} : { capture_windows_closed: ended.closed, captured_purged: ended.purged }),
    };
    return { answer: ended?.closed ?? [], audit: { action: "policy.change", workspaceId: id, target: id, detail } };
  }).catch((error: unknown) => {
    deps.directory.putWorkspace(workspace);
    throw error;
  });
  deps.directory.putWorkspace(changed);
  for (const window of ended) deps.captures.windowClosed(window);
  return changed.policy;
}

export function policyHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageShowPolicy: buffered(async (exchange) => ({
      status: 200,
      json: policyView(findWorkspace(context, exchange.params["workspace"]).policy),
    })),
    manageChangePolicy: mutation(context, async (exchange, scope) => {
      const { id } = findWorkspace(scope, exchange.params["workspace"]);
      const demands = parsePolicyChange(await readBody(exchange, PolicyPatch), knownNamesFor(scope, id));
      const policy = await scope.serialized(() => changePolicy(scope, findWorkspace(scope, id), demands));
      if (demands.zeroDataRetention === true) {
        // After the commit: a reply that was being written may have come behind the removal.
        await scope.responseCache.drop(id);
        await scope.responseCache.purge(id);
      }
      return { status: 200, json: policyView(policy) };
    }),
  };
}
