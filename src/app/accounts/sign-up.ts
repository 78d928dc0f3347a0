import { fault } from "../../contract/faults.ts";
import { SignUpBody, SignUpFinish, TokenQuery } from "../../contract/schemas/people.ts";
import { DAY_MS } from "../../kit/time.ts";
import { buffered, type Handler } from "../exchange.ts";
import { readBody, readQuery } from "../request-input.ts";
import { createAccount } from "./account-creation.ts";
import { findValidLink, invalidLink, newAccountLink } from "./account-links.ts";
import type { AccountsContext } from "./accounts-context.ts";
import { type AccountMail, publicBaseUrl } from "./accounts-deps.ts";
import { beginReadAttempt, requireSameOrigin } from "./origin-check.ts";

/** Accounts for anyone who verifies an address, if the operator allows it. */
export function signUpHandlers(context: AccountsContext): Record<string, Handler> {
  return {
    peopleSignUp: buffered(async (exchange) => {
      requireSameOrigin(exchange.headers, context.publicUrl);
      const mail = requireOpenSignUp(context);
      const email = (await readBody(exchange, SignUpBody)).email.trim().toLowerCase();
      // Every request counts, because every request sends a mail.
      context.loginThrottle.beginMail(exchange.clientAddress, email);
      const isKnown = (await context.store.people.personByEmail(email)) !== undefined;
      mail(isKnown ? existingAccountMail(context, email) : await signUpMail(context, email));
      return { status: 202, json: { asked: true } };
    }),
    peopleSignUpStanding: buffered(async (exchange) => {
      requireOpenSignUp(context);
      const { token } = readQuery(exchange, TokenQuery);
      const attempt = beginReadAttempt(context, exchange);
      const link = await findValidLink(context, "sign_up", token);
      if (link !== undefined) attempt.succeed();
      return { status: 200, json: { good: link !== undefined, email: link?.email ?? null } };
    }),
    peopleSignUpFinish: buffered(async (exchange) => {
      requireSameOrigin(exchange.headers, context.publicUrl);
      requireOpenSignUp(context);
      const { token, name, password } = await readBody(exchange, SignUpFinish);
      const attempt = context.loginThrottle.begin({ is: "client", address: exchange.clientAddress });
      const link = await findValidLink(context, "sign_up", token);
      if (link === undefined || link.email === null) throw invalidLink();
      attempt.succeed();
      const { cookies } = await createAccount(
        context,
        exchange,
        { email: link.email, name, password },
        {
          link,
          isOperator: false,
          isEmailVerified: true,
          granted: undefined,
          action: "person.sign_up",
          authorize: async () => undefined,
        },
      );
      return { status: 201, json: { email: link.email, name }, cookies };
    }),
  };
}

function requireOpenSignUp({ signUp, mail }: AccountsContext): (mail: AccountMail) => void {
  if (signUp === "open" && mail !== null) return mail;
  throw fault("not_allowed", {
    message: "Accounts are created by invitation. Ask an admin of your workspace for one.",
  });
}

async function signUpMail(context: AccountsContext, email: string): Promise<AccountMail> {
  const { link, token } = newAccountLink(context, {
    kind: "sign_up",
    email,
    membership: null,
    issuedBy: email,
    lifetimeMs: DAY_MS,
  });
  await context.store.change(async ({ people }) => {
    await people.revokeLinks("sign_up", email, null, link.createdAtMs);
    await people.addLink(link);
    return { result: null, audit: null };
  });
  const text = [
    `An account with this email address was requested at ${publicBaseUrl(context)}.`,
    `Continue here within one day:\n${publicBaseUrl(context)}/app/sign-up?token=${token}`,
    "If you did not request it, ignore this email.",
  ].join("\n\n");
  return { to: email, subject: "Confirm your email address", text };
}

/** The response is the same for a known address, so that it does not reveal whether an account exists. */
function existingAccountMail(context: AccountsContext, email: string): AccountMail {
  const text = [
    `An account with this email address was requested at ${publicBaseUrl(context)}, but you already have one.`,
    `Sign in here:\n${publicBaseUrl(context)}/app/sign-in`,
  ].join("\n\n");
  return { to: email, subject: "You already have an account", text };
}
