import { isDeepStrictEqual } from "node:util";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import type { AuditEntry } from "../../../domain/record/audit.ts";
import { OPEN_POLICY, type PolicyVersion } from "../../../domain/tenancy/policy.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { readQuery } from "../../request-input.ts";
import { findWorkspace, type ManageContext } from "../deps.ts";
import { paginate } from "../page.ts";
import { isoTime, policyView } from "../views.ts";

/** More audit entries than a policy has changes. */
const ENTRIES_MAX = 10_000;

/** The author of each version, from the audit log: an effective change writes both in one transaction. */
async function authorsOf(context: ManageContext, workspaceId: string, versions: readonly PolicyVersion[]) {
  const entriesOf = async (action: string) =>
    (await context.store.audit.list({ workspaceId, action }, ENTRIES_MAX, null)).rows;
  const changes = (await entriesOf("policy.change")).filter(isChange);
  const first = (await entriesOf("workspace.create")).at(-1);
  const authors = new Map<number, string>();
  for (const [at, { version, createdAtMs }] of versions.toSorted((a, b) => b.version - a.version).entries()) {
    const entry = changes[at] ?? first;
    // A version older than its audit entry was not written with it, so its author is unknown.
    if (entry !== undefined && entry.atMs >= createdAtMs) authors.set(version, entry.actor);
  }
  return authors;
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
      const authors = await authorsOf(context, id, versions);
      // Ordered by version, which does not depend on the clock.
      const numbered = versions.map((row) => ({ row, id, createdAtMs: row.version }));
      const { rows, next } = paginate(numbered, limit, cursor);
      const data = rows.map(({ row: { version, createdAtMs, policy } }) => ({
        version,
        created_at: isoTime(createdAtMs),
        by: authors.get(version) ?? null,
        policy: policyView({ ...OPEN_POLICY, ...policy }),
      }));
      return { status: 200, json: { data, next } };
    }),
  };
}
