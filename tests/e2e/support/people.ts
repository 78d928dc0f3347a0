import type { TestGateway } from "../../support/gateway.ts";

export type Cookie = {
  readonly name: string;
  readonly value: string;
  readonly domain: string;
  readonly path: string;
  readonly expires: number;
  readonly httpOnly: boolean;
  readonly secure: boolean;
  readonly sameSite: "Lax" | "Strict" | "None";
};

export type Person = {
  readonly email: string;
  readonly name: string;
  readonly password: string;
  readonly cookies: readonly Cookie[];
};

const PASSWORD = "correct horse battery staple";

/** The first person, through the set-up link that the operator's token can ask for. */
export async function setUpFirst(gateway: TestGateway, origin: string): Promise<Person> {
  const { link } = await gateway.manage("POST", "/setup-link");
  const token = new URL(String(link), origin).searchParams.get("token");
  const who = { email: "ada@example.eu", name: "Ada Moreau", password: PASSWORD };
  return { ...who, cookies: await signedIn(origin, "/manage/setup", { token, ...who }) };
}

/** A person with a role in the demo workspace, added through an invitation. */
export async function invite(gateway: TestGateway, origin: string, role: "admin" | "member"): Promise<Person> {
  const who = {
    email: `${role}@example.eu`,
    name: role === "admin" ? "Bruno Keller" : "Clara Nowak",
    password: PASSWORD,
  };
  const { link } = await gateway.manage("POST", "/workspaces/demo/invitations", { email: who.email, role });
  const token = new URL(String(link), origin).searchParams.get("token") ?? "";
  const { name, password } = who;
  const path = `/manage/invitations/${encodeURIComponent(token)}/accept`;
  return { ...who, cookies: await signedIn(origin, path, { name, password }) };
}

async function signedIn(origin: string, path: string, body: object): Promise<Cookie[]> {
  const answer = await fetch(`${origin}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", origin },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`);
  return answer.headers.getSetCookie().map((line) => cookieOf(line, new URL(origin).hostname));
}

function cookieOf(line: string, domain: string): Cookie {
  const [pair = "", ...flags] = line.split(";").map((part) => part.trim());
  const [name = "", ...value] = pair.split("=");
  const flag = (wanted: string) => flags.find((one) => one.toLowerCase().startsWith(wanted.toLowerCase()));
  const path = flag("path=")?.slice(5) ?? "/";
  const sameSite = flag("samesite=strict") === undefined ? "Lax" : "Strict";
  const [httpOnly, secure] = [flag("httponly") !== undefined, flag("secure") !== undefined];
  return { name, value: value.join("="), domain, path, expires: -1, httpOnly, secure, sameSite };
}
