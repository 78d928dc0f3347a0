import { isDeepStrictEqual } from "node:util";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import type { AuditEntry } from "../../../domain/record/audit.ts";
import { OPEN_POLICY, type PolicyVersion } from "../../../domain/tenancy/policy.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { readQuery } from "../../request-input.ts";
import { findWorkspace, type ManageContext } from "../deps.ts";
import { paginate } from "../page.ts";
import { isoTime, policyView } from "../views.ts";

/** More changes of one policy than anybody makes. */
const LINES_MAX = 10_000;

/** Who made which version. The audit log knows: a change that changed something wrote both together. */
async function authorsOf(context: ManageContext, workspaceId: string, versions: readonly PolicyVersion[]) {
  const linesOf = async (action: string) =>
    (await context.store.audit.list({ workspaceId, action }, LINES_MAX, null)).rows;
  const changes = (await linesOf("policy.change")).filter(isChange);
  const first = (await linesOf("workspace.create")).at(-1);
  const makers = new Map<number, string>();
  for (const [at, { version, createdAtMs }] of versions.toSorted((a, b) => b.version - a.version).entries()) {
    const line = changes[at] ?? first;
    // A version that is older than its line's place says was not made with it: nobody knows.
    if (line !== undefined && line.atMs >= createdAtMs) makers.set(version, line.actor);
  }
  return makers;
}

function isChange({ detail }: AuditEntry): boolean {
  return !isDeepStrictEqual(detail["before"], detail["after"]);
}

export function policyVersionHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageListPolicyVersions: buffered(async (exchange) => {
      const { id } = findWorkspace(context, exchange.params["workspace"]);
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const versions = (await context.store.tenancy.policyHistory(id)).filter(({ keyId }) => keyId === null);
      const makers = await authorsOf(context, id, versions);
      // By number, whatever the clock did between two of them.
      const numbered = versions.map((row) => ({ row, id, createdAtMs: row.version }));
      const { rows, next } = paginate(numbered, limit, cursor);
      const data = rows.map(({ row: { version, createdAtMs, policy } }) => ({
        version,
        created_at: isoTime(createdAtMs),
        by: makers.get(version) ?? null,
        policy: policyView({ ...OPEN_POLICY, ...policy }),
      }));
      return { status: 200, json: { data, next } };
    }),
  };
}
