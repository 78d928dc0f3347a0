import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import { type ApiKey, ENVIRONMENTS, KEY_PURPOSES, KEY_STATES, SCOPES } from "../../../domain/tenancy/key.ts";
import { LEVELS } from "../../../domain/tenancy/policy.ts";
import { NODE_USES, type Router, type RouterSpec, type RouterVersion } from "../../../domain/tenancy/router.ts";
import type { TenancyStore } from "../../../domain/tenancy/tenancy-store.ts";
import type { ManagementToken } from "../../../domain/tenancy/token.ts";
import { type KeyPolicy, type Member, ROLES, type Workspace } from "../../../domain/tenancy/workspace.ts";
import { EFFORTS } from "../../../language/canon/call.ts";
import { inTransaction } from "./in-transaction.ts";
import { policyVersions } from "./policy-versions.ts";
import type { Database } from "./schema.ts";
import { StoreError } from "./store-error.ts";
import { cacheRule, dataClasses, fullPolicySchema, partialPolicySchema, storedText } from "./stored-policy.ts";

export function tenancyStore(db: Kysely<Database>): TenancyStore {
  return {
    async loadAll(only) {
      const all = {
        workspaces: db.selectFrom("workspaces").selectAll().orderBy("created_at_ms").orderBy("id"),
        members: db.selectFrom("members").selectAll().orderBy("created_at_ms").orderBy("id"),
        keys: db.selectFrom("api_keys").selectAll().orderBy("created_at_ms").orderBy("id"),
        routers: db
          .selectFrom("router_versions")
          .selectAll()
          .orderBy("workspace_id")
          .orderBy("slug")
          .orderBy("version"),
        tokens: db.selectFrom("management_tokens").selectAll().orderBy("created_at_ms").orderBy("id"),
      };
      const [workspaces, members, keys, routers, tokens] = await Promise.all([
        all.workspaces.$if(only !== undefined, (rows) => rows.where("id", "=", only ?? "")).execute(),
        all.members.$if(only !== undefined, (rows) => rows.where("workspace_id", "=", only ?? "")).execute(),
        all.keys.$if(only !== undefined, (rows) => rows.where("workspace_id", "=", only ?? "")).execute(),
        all.routers.$if(only !== undefined, (rows) => rows.where("workspace_id", "=", only ?? "")).execute(),
        all.tokens.$if(only !== undefined, (rows) => rows.where("workspace_id", "=", only ?? "")).execute(),
      ]);
      return {
        workspaces: workspaces.map(toWorkspace),
        members: members.map(toMember),
        keys: keys.map(toKey),
        routers: currentRouters(routers.map(toRouterVersion)),
        tokens: tokens.map(toToken),
      };
    },

    async saveWorkspace(workspace) {
      const { id, currency } = workspace;
      const row = fromWorkspace(workspace);
      await inTransaction(db, async (transaction) => {
        const { id: _, ...changes } = row;
        await transaction
          .insertInto("workspaces")
          .values(row)
          .onConflict((conflict) => conflict.column("id").doUpdateSet(changes))
          .execute();
        await transaction
          .insertInto("wallets")
          .values({ workspace_id: id, currency, balance_nanos: 0n })
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        const wallet = await transaction
          .selectFrom("wallets")
          .select("currency")
          .where("workspace_id", "=", id)
          .executeTakeFirst();
        if (wallet?.currency !== currency)
          throw new StoreError("conflict", `the wallet of ${id} is in ${wallet?.currency}, which cannot be changed`);
      });
    },

    async saveMember(member) {
      const row = fromMember(member);
      const { id: _, ...changes } = row;
      await db
        .insertInto("members")
        .values(row)
        .onConflict((conflict) => conflict.column("id").doUpdateSet(changes))
        .execute();
    },

    async removeMember(memberId) {
      await db.deleteFrom("members").where("id", "=", memberId).execute();
    },

    async saveKeys(keys) {
      await inTransaction(db, async (transaction) => {
        for (const key of keys) {
          const row = fromKey(key);
          const { id: _, ...changes } = row;
          await transaction
            .insertInto("api_keys")
            .values(row)
            .onConflict((conflict) => conflict.column("id").doUpdateSet(changes))
            .execute();
        }
      });
    },

    async saveRouterVersion(version) {
      await db.insertInto("router_versions").values(fromRouterVersion(version)).execute();
    },

    ...policyVersions(db),
    ...tokenRows(db),
    ...routerRows(db),
  };
}

function routerRows(db: Kysely<Database>): Pick<TenancyStore, "routerVersions" | "routerHistory"> {
  return {
    async routerVersions(workspaceId) {
      const rows = await db
        .selectFrom("router_versions")
        .selectAll()
        .where("workspace_id", "=", workspaceId)
        .orderBy("slug")
        .orderBy("version")
        .execute();
      return rows.map(toRouterVersion);
    },

    async routerHistory(workspaceId, slug) {
      const rows = await db
        .selectFrom("router_versions")
        .selectAll()
        .where("workspace_id", "=", workspaceId)
        .where("slug", "=", slug)
        .orderBy("version", "desc")
        .execute();
      return rows.map(toRouterVersion);
    },
  };
}

function tokenRows(db: Kysely<Database>): Pick<TenancyStore, "addToken" | "removeToken"> {
  return {
    async addToken(token) {
      await db.insertInto("management_tokens").values(fromToken(token)).execute();
    },
    async removeToken(tokenId) {
      await db.deleteFrom("management_tokens").where("id", "=", tokenId).execute();
    },
  };
}

/** The last version of each router, unless it is a deletion. Expects versions in order. */
function currentRouters(versions: readonly RouterVersion[]): Router[] {
  const last = new Map(versions.map((version) => [`${version.workspaceId} ${version.slug}`, version]));
  return [...last.values()].flatMap(({ spec, ...rest }) => (spec === null ? [] : [{ ...rest, spec }]));
}

const weight = z.number().min(0);
const routerSpec: z.ZodType<RouterSpec> = z.object({
  weights: z.object({ quality: weight, cost: weight, latency: weight }),
  floor: z.enum(LEVELS).nullable(),
  qualityFloor: z.number().nullable(),
  countries: z.array(z.string()).nullable(),
  models: z.array(z.string()).nullable(),
  fallback: z.array(z.string()),
  reasoningEffort: z.enum(EFFORTS).nullable(),
  // Versions from before nodes existed lack the field.
  nodes: z.enum(NODE_USES).nullable().default(null),
  dataClasses: dataClasses.exactOptional(),
  cache: cacheRule.exactOptional(),
});
const keyPolicy: z.ZodType<KeyPolicy> = z.object({
  personalKeys: z.boolean(),
  approval: z.boolean(),
  // Policies from before workspaces had allowlists lack the field.
  ipAllowlist: z.array(z.string()).nullable().default(null),
});
const scopes = z.array(z.enum(SCOPES));
const strings = z.array(z.string());
const environment = z.enum(ENVIRONMENTS);
const keyState = z.enum(KEY_STATES);
const keyPurpose = z.enum(KEY_PURPOSES);
const keyKind = z.enum(["workspace", "personal"]);
const role = z.enum(ROLES);
const tokenAccess = z.enum(["read", "write"]);

function fromWorkspace(workspace: Workspace): Selectable<Database["workspaces"]> {
  return {
    id: workspace.id,
    slug: workspace.slug,
    name: workspace.name,
    currency: workspace.currency,
    created_at_ms: workspace.createdAtMs,
    policy: storedText(workspace.policy),
    key_policy: JSON.stringify(workspace.keyPolicy),
  };
}

function toWorkspace(row: Selectable<Database["workspaces"]>): Workspace {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    currency: row.currency,
    createdAtMs: row.created_at_ms,
    policy: fullPolicySchema.parse(JSON.parse(row.policy)),
    keyPolicy: keyPolicy.parse(JSON.parse(row.key_policy)),
  };
}

function fromMember(member: Member): Selectable<Database["members"]> {
  const { id, workspaceId, email, createdAtMs } = member;
  const offered = member.pending ? 1 : 0;
  return { id, workspace_id: workspaceId, email, role: member.role, created_at_ms: createdAtMs, offered };
}

function toMember(row: Selectable<Database["members"]>): Member {
  const { id, workspace_id: workspaceId, email, created_at_ms: createdAtMs } = row;
  return { id, workspaceId, email, role: role.parse(row.role), createdAtMs, pending: row.offered === 1 };
}

function fromKey(key: ApiKey): Selectable<Database["api_keys"]> {
  return {
    id: key.id,
    workspace_id: key.workspaceId,
    member_id: key.memberId,
    name: key.name,
    kind: key.kind,
    environment: key.environment,
    digest: key.digest,
    state: key.state,
    scopes: key.scopes === null ? null : JSON.stringify(key.scopes),
    ip_allowlist: key.ipAllowlist === null ? null : JSON.stringify(key.ipAllowlist),
    expires_at_ms: key.expiresAtMs,
    grace_until_ms: key.graceUntilMs,
    rpm: key.rpm,
    version: key.version,
    created_at_ms: key.createdAtMs,
    rotated_from: key.rotatedFrom,
    policy: key.policy === null ? null : storedText(key.policy),
    purpose: key.purpose ?? null,
  };
}

function toKey(row: Selectable<Database["api_keys"]>): ApiKey {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    memberId: row.member_id,
    name: row.name,
    kind: keyKind.parse(row.kind),
    environment: environment.parse(row.environment),
    digest: row.digest,
    state: keyState.parse(row.state),
    scopes: row.scopes === null ? null : scopes.parse(JSON.parse(row.scopes)),
    ipAllowlist: row.ip_allowlist === null ? null : strings.parse(JSON.parse(row.ip_allowlist)),
    expiresAtMs: row.expires_at_ms,
    graceUntilMs: row.grace_until_ms,
    rpm: row.rpm,
    policy: row.policy === null ? null : partialPolicySchema.parse(JSON.parse(row.policy)),
    version: row.version,
    createdAtMs: row.created_at_ms,
    rotatedFrom: row.rotated_from,
    ...(row.purpose === null ? {} : { purpose: keyPurpose.parse(row.purpose) }),
  };
}

function fromToken(token: ManagementToken): Selectable<Database["management_tokens"]> {
  return {
    id: token.id,
    workspace_id: token.workspaceId,
    name: token.name,
    access: token.access,
    digest: token.digest,
    created_at_ms: token.createdAtMs,
    created_by: token.createdBy,
    expires_at_ms: token.expiresAtMs,
  };
}

function toToken(row: Selectable<Database["management_tokens"]>): ManagementToken {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    access: tokenAccess.parse(row.access),
    digest: row.digest,
    createdAtMs: row.created_at_ms,
    createdBy: row.created_by,
    expiresAtMs: row.expires_at_ms,
  };
}

function fromRouterVersion({ workspaceId, slug, version, createdAtMs, spec }: RouterVersion) {
  const text = spec === null ? null : storedText(spec);
  return { workspace_id: workspaceId, slug, version, created_at_ms: createdAtMs, spec: text };
}

function toRouterVersion(row: Selectable<Database["router_versions"]>): RouterVersion {
  const { workspace_id: workspaceId, slug, version, created_at_ms: createdAtMs } = row;
  return {
    workspaceId,
    slug,
    version,
    createdAtMs,
    spec: row.spec === null ? null : routerSpec.parse(JSON.parse(row.spec)),
  };
}
