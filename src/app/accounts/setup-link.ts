import { SetupBody, TokenQuery } from "../../contract/schemas/people.ts";
import type { AccountLink } from "../../domain/tenancy/person.ts";
import { sha256Hex } from "../../kit/secret.ts";
import { type Handler, whole } from "../exchange.ts";
import { readBody, readQuery } from "../request-input.ts";
import { goodLink, makeAccount, noLink } from "./account-creation.ts";
import { type AccountsDeps, publicBaseUrl } from "./accounts-deps.ts";
import { beginRead, refuseForeign } from "./origin-check.ts";
import type { PeopleRoom } from "./room.ts";

const SETUP_MS = 30 * 86_400_000;
/** The workspace of the first start; who sets the gateway up owns it. */
const FIRST_WORKSPACE = "demo";

type Linking = Pick<AccountsDeps, "store" | "ids" | "clock" | "makeToken" | "publicUrl" | "origin">;

export async function isSetupNeeded({ store }: Pick<AccountsDeps, "store">): Promise<boolean> {
  return (await store.people.countOperators()) === 0;
}

/** A new set-up link; those from before are not good any more. */
export async function makeSetupLink(deps: Linking, issuedBy: string): Promise<{ link: string; expiresAtMs: number }> {
  const { store, ids, clock, makeToken } = deps;
  const [token, now] = [makeToken(), clock.nowMs()];
  const link: AccountLink = {
    id: ids.next("lnk_"),
    kind: "setup",
    digest: sha256Hex(token),
    email: null,
    membership: null,
    issuedBy,
    createdAtMs: now,
    expiresAtMs: now + SETUP_MS,
    usedAtMs: null,
    revokedAtMs: null,
  };
  await store.change(async ({ people }) => {
    await people.revokeLinks("setup", null, null, now);
    await people.addLink(link);
    const line = { id: ids.next("aud_"), atMs: now, actor: issuedBy, action: "setup_link.create", workspaceId: null };
    return { answer: null, audit: { ...line, target: link.id, detail: {} } };
  });
  return { link: `${publicBaseUrl(deps)}/app/setup?token=${token}`, expiresAtMs: link.expiresAtMs };
}

export function setupHandlers(room: PeopleRoom): Record<string, Handler> {
  return {
    peopleSetupStanding: whole(async (exchange) => {
      const { token } = readQuery(exchange, TokenQuery);
      const trying = beginRead(room, exchange);
      const needed = await isSetupNeeded(room);
      const good = needed && (await goodLink(room, "setup", token)) !== undefined;
      if (good) trying.succeed();
      return { status: 200, json: { good, needed } };
    }),
    peopleSetup: whole(async (exchange) => {
      refuseForeign(exchange.headers, room.publicUrl);
      const { token, ...account } = await readBody(exchange, SetupBody);
      const trying = room.loginThrottle.begin(exchange.clientAddress);
      const demand = async () => {
        if (!(await isSetupNeeded(room))) throw noLink();
      };
      await demand();
      const link = await goodLink(room, "setup", token);
      if (link === undefined) throw noLink();
      trying.succeed();
      const workspace = room.directory.workspace(FIRST_WORKSPACE);
      const seat = workspace === undefined ? undefined : { workspace, role: "owner" as const };
      const made = { link, operator: true, proven: true, seat, action: "person.setup", demand };
      const { cookie } = await makeAccount(room, exchange, account, made);
      const json = {
        email: account.email.trim().toLowerCase(),
        name: account.name,
        operator: true,
        workspace: workspace?.slug ?? null,
      };
      return { status: 201, json, cookies: [cookie] };
    }),
  };
}
