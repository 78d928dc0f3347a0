import { SetupBody, TokenQuery } from "../../contract/schemas/people.ts";
import { DAY_MS } from "../../kit/time.ts";
import { buffered, type Handler } from "../exchange.ts";
import { readBody, readQuery } from "../request-input.ts";
import { createAccount } from "./account-creation.ts";
import { findValidLink, invalidLink, newAccountLink } from "./account-links.ts";
import type { AccountsContext } from "./accounts-context.ts";
import { type AccountsDeps, publicBaseUrl } from "./accounts-deps.ts";
import { beginReadAttempt, requireSameOrigin } from "./origin-check.ts";

const SETUP_LINK_MS = 30 * DAY_MS;
/** The workspace of the first start; the first operator becomes its owner. */
const FIRST_WORKSPACE = "demo";

type SetupLinkDeps = Pick<AccountsDeps, "store" | "ids" | "clock" | "makeToken" | "publicUrl" | "origin"> & {
  readonly auditActor: string;
};

export async function isSetupNeeded({ store }: Pick<AccountsDeps, "store">): Promise<boolean> {
  return (await store.people.countOperators()) === 0;
}

/** Issues a set-up link and revokes the earlier ones. */
export async function createSetupLink(deps: SetupLinkDeps): Promise<{ link: string; expiresAtMs: number }> {
  const { store, ids, auditActor } = deps;
  const { link, token } = newAccountLink(deps, {
    kind: "setup",
    email: null,
    membership: null,
    issuedBy: auditActor,
    lifetimeMs: SETUP_LINK_MS,
  });
  const now = link.createdAtMs;
  await store.change(async ({ people }) => {
    await people.revokeLinks("setup", null, null, now);
    await people.addLink(link);
    const entry = { id: ids.next("aud_"), atMs: now, actor: auditActor, action: "setup_link.create" };
    return { result: null, audit: { ...entry, workspaceId: null, target: link.id, detail: {} } };
  });
  return { link: `${publicBaseUrl(deps)}/app/setup?token=${token}`, expiresAtMs: link.expiresAtMs };
}

export function setupLinkHandlers(context: AccountsContext): Record<string, Handler> {
  return {
    peopleSetupStanding: buffered(async (exchange) => {
      const { token } = readQuery(exchange, TokenQuery);
      const attempt = beginReadAttempt(context, exchange);
      const needed = await isSetupNeeded(context);
      const good = needed && (await findValidLink(context, "setup", token)) !== undefined;
      if (good) attempt.succeed();
      return { status: 200, json: { good, needed } };
    }),
    peopleSetup: buffered(async (exchange) => {
      requireSameOrigin(exchange.headers, context.publicUrl);
      const { token, ...account } = await readBody(exchange, SetupBody);
      const attempt = context.loginThrottle.begin({ is: "client", address: exchange.clientAddress });
      const authorize = async () => {
        if (!(await isSetupNeeded(context))) throw invalidLink();
      };
      await authorize();
      const link = await findValidLink(context, "setup", token);
      if (link === undefined) throw invalidLink();
      attempt.succeed();
      const workspace = context.directory.workspace(FIRST_WORKSPACE);
      const { cookies } = await createAccount(context, exchange, account, {
        link,
        isOperator: true,
        isEmailVerified: true,
        granted: workspace === undefined ? undefined : { workspace, role: "owner" },
        action: "person.setup",
        authorize,
      });
      const json = {
        email: account.email.trim().toLowerCase(),
        name: account.name,
        operator: true,
        workspace: workspace?.slug ?? null,
      };
      return { status: 201, json, cookies };
    }),
  };
}
