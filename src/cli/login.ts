import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { baseUrl, makeClient } from "./client.ts";
import { CliError, type Invocation } from "./command.ts";
import { readSession, storeSession } from "./kept-sessions.ts";

const CLIENT = "gateway-cli";
const GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const TIMEOUT_MS = 30_000;

const Code = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: z.number(),
  interval: z.number(),
});
const Token = z.object({ access_token: z.string() });
const TokenError = z.object({ error: z.union([z.string(), z.object({ message: z.string() })]) });
const Me = z.object({
  person: z
    .object({
      email: z.string(),
      name: z.string(),
      operator: z.boolean(),
      session: z.object({ id: z.string() }),
    })
    .nullable(),
  workspaces: z.array(z.object({ slug: z.string(), role: z.string() })),
});

/** Signs a person in on this machine: they allow it in a browser, wherever that is. */
export async function runLogin({ format, shell }: Invocation): Promise<number> {
  const base = baseUrl(shell.env);
  const code = Code.parse(await post(base, "code", { client_id: CLIENT }));
  const shown = `${code.user_code.slice(0, 4)}-${code.user_code.slice(4)}`;
  shell.stderr.write(
    `Open ${code.verification_uri} in a browser, sign in and enter the code ${shown}.\nOr open ${code.verification_uri_complete}\nWaiting …\n`,
  );
  const token = await redeem(base, code);
  const { person } = await whoIs(base, token);
  if (person === null) throw new CliError("The session ended before it could be stored. Run `gateway login` again.");
  storeSession(shell.env, base, { token, email: person.email });
  const answer = { signed_in: person.email, gateway: base };
  shell.stdout.write(format === "json" ? `${JSON.stringify(answer, null, 2)}\n` : `Signed in as ${person.email}.\n`);
  return 0;
}

export async function runLogout({ format, shell }: Invocation): Promise<number> {
  const base = baseUrl(shell.env);
  const kept = readSession(shell.env, base);
  if (kept === undefined) throw new CliError(`Not signed in at ${base} from this machine.`);
  const { person } = await whoIs(base, kept.token);
  // One that is over already needs no end.
  if (person !== null) await send(base, kept.token, "DELETE", `/manage/me/sessions/${person.session.id}`);
  storeSession(shell.env, base, undefined);
  const answer = { signed_out: kept.email, gateway: base };
  shell.stdout.write(format === "json" ? `${JSON.stringify(answer, null, 2)}\n` : `Signed out ${kept.email}.\n`);
  return 0;
}

export async function runWhoami({ format, shell }: Invocation): Promise<number> {
  const base = baseUrl(shell.env);
  const client = makeClient(shell.env);
  const { person, workspaces } = Me.parse(await client.send("GET", "/manage/me"));
  // The token may be unknown to the gateway; the next call reports that.
  if (person === null) await client.send("GET", "/manage/workspaces");
  const who = person === null ? "a token" : person.email;
  const answer = { who, operator: person?.operator ?? null, workspaces, gateway: base };
  const memberships = workspaces.map(({ slug, role }) => `  ${slug} (${role})`);
  const lines = [`${who}${person?.operator === true ? ", operator" : ""} at ${base}`, ...memberships];
  shell.stdout.write(format === "json" ? `${JSON.stringify(answer, null, 2)}\n` : `${lines.join("\n")}\n`);
  return 0;
}

async function redeem(base: string, code: z.infer<typeof Code>): Promise<string> {
  const body = { grant_type: GRANT, device_code: code.device_code, client_id: CLIENT };
  const until = Date.now() + code.expires_in * 1000;
  let waitMs = code.interval * 1000;
  while (Date.now() < until) {
    await sleep(waitMs);
    const answer = await post(base, "token", body);
    const token = Token.safeParse(answer);
    if (token.success) return token.data.access_token;
    const { error } = TokenError.parse(answer);
    if (error === "slow_down") waitMs += 1000;
    else if (error === "access_denied") throw new CliError("The sign-in was denied in the browser.");
    else if (error === "expired_token") break;
    else if (error !== "authorization_pending") throw new CliError(`The sign-in failed: ${errorText(error)}`);
  }
  throw new CliError("The sign-in was not approved in time. Run `gateway login` again.");
}

const errorText = (error: z.infer<typeof TokenError>["error"]) => (typeof error === "string" ? error : error.message);

async function whoIs(base: string, token: string): Promise<z.infer<typeof Me>> {
  return Me.parse(await send(base, token, "GET", "/manage/me"));
}

function post(base: string, step: string, body: object): Promise<unknown> {
  return send(base, undefined, "POST", `/manage/auth/device/${step}`, body);
}

async function send(base: string, token: string | undefined, method: string, target: string, body?: object) {
  const response = await fetch(`${base}${target}`, {
    method,
    headers: {
      "user-agent": "gateway command line",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => {
    throw new CliError(`Cannot reach the gateway at ${base}. Start it, or set GATEWAY_URL to its URL.`);
  });
  const answer: unknown = await response.json().catch(() => undefined);
  const refused = TokenError.safeParse(answer);
  if (refused.success && typeof refused.data.error !== "string") throw new CliError(refused.data.error.message);
  return answer;
}
