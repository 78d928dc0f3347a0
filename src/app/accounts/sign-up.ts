import { fault } from "../../contract/faults.ts";
import { SignUpBody, SignUpFinish, TokenQuery } from "../../contract/schemas/people.ts";
import type { AccountLink } from "../../domain/tenancy/person.ts";
import { sha256Hex } from "../../kit/secret.ts";
import { type Handler, whole } from "../exchange.ts";
import { readBody, readQuery } from "../request-input.ts";
import { goodLink, makeAccount, noLink } from "./account-creation.ts";
import { type AccountMail, publicBaseUrl } from "./accounts-deps.ts";
import { beginRead, refuseForeign } from "./origin-check.ts";
import type { PeopleRoom } from "./room.ts";

const SIGN_UP_MS = 24 * 3_600_000;

/** Accounts for whoever proves an address, where the operator opened that. */
export function signUpHandlers(room: PeopleRoom): Record<string, Handler> {
  return {
    peopleSignUp: whole(async (exchange) => {
      refuseForeign(exchange.headers, room.publicUrl);
      const mail = demandOpen(room);
      const email = (await readBody(exchange, SignUpBody)).email.trim().toLowerCase();
      // Each counts, whatever becomes of it: it sends a mail to somebody.
      room.loginThrottle.begin(exchange.clientAddress, email);
      const isKnown = (await room.store.people.personByEmail(email)) !== undefined;
      mail(isKnown ? knownMail(room, email) : await signUpMail(room, email));
      return { status: 202, json: { asked: true } };
    }),
    peopleSignUpStanding: whole(async (exchange) => {
      demandOpen(room);
      const { token } = readQuery(exchange, TokenQuery);
      const trying = beginRead(room, exchange);
      const link = await goodLink(room, "sign_up", token);
      if (link !== undefined) trying.succeed();
      return { status: 200, json: { good: link !== undefined, email: link?.email ?? null } };
    }),
    peopleSignUpFinish: whole(async (exchange) => {
      refuseForeign(exchange.headers, room.publicUrl);
      demandOpen(room);
      const { token, name, password } = await readBody(exchange, SignUpFinish);
      const trying = room.loginThrottle.begin(exchange.clientAddress);
      const link = await goodLink(room, "sign_up", token);
      if (link === undefined || link.email === null) throw noLink();
      trying.succeed();
      const demand = async () => undefined;
      const made = { link, operator: false, proven: true, seat: undefined, action: "person.sign_up", demand };
      const { cookie } = await makeAccount(room, exchange, { email: link.email, name, password }, made);
      return { status: 201, json: { email: link.email, name }, cookies: [cookie] };
    }),
  };
}

function demandOpen({ signUp, mail }: PeopleRoom): (mail: AccountMail) => void {
  if (signUp === "open" && mail !== null) return mail;
  throw fault("not_allowed", {
    message: "Accounts are made by invitation here. Ask an admin of your workspace for one.",
  });
}

async function signUpMail(room: PeopleRoom, email: string): Promise<AccountMail> {
  const { ids, clock, makeToken, store } = room;
  const [token, now] = [makeToken(), clock.nowMs()];
  const link: AccountLink = {
    id: ids.next("lnk_"),
    kind: "sign_up",
    digest: sha256Hex(token),
    email,
    membership: null,
    issuedBy: email,
    createdAtMs: now,
    expiresAtMs: now + SIGN_UP_MS,
    usedAtMs: null,
    revokedAtMs: null,
  };
  await store.change(async ({ people }) => {
    await people.revokeLinks("sign_up", email, null, now);
    await people.addLink(link);
    return { answer: null, audit: null };
  });
  const text = [
    `Somebody, hopefully you, wants an account at ${publicBaseUrl(room)} with this address.`,
    `Go on here, within a day:\n${publicBaseUrl(room)}/app/sign-up?token=${token}`,
    "If it was not you, do nothing.",
  ].join("\n\n");
  return { to: email, subject: "Your account", text };
}

function knownMail(room: PeopleRoom, email: string): AccountMail {
  const text = [
    `Somebody, hopefully you, wants an account at ${publicBaseUrl(room)} with this address. You have one already.`,
    `Sign in here:\n${publicBaseUrl(room)}/app/sign-in`,
  ].join("\n\n");
  return { to: email, subject: "Your account", text };
}
