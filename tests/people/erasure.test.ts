import { readFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import type { Json } from "../support/gateway.ts";
import { OWNER, PASSWORD, type PeopleGateway, peopleGateway, tokenOf } from "../support/people.ts";

const guide = readFileSync(path.join(PROJECT_ROOT, "docs/guides/erasing.md"), "utf8");
const [ofPerson = "", ofCustomer = ""] = [...guide.matchAll(/^```sh\n(.*?)^```/gms)].map(([, lines = ""]) => lines);

const CHAT = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }] };

/** Lines of the guide with real values for its examples, once per value. */
async function type(gateway: PeopleGateway, lines: string, own: Record<string, readonly string[]>): Promise<void> {
  for (const line of lines.trimEnd().split("\n")) {
    const [example = "", values = [""]] = Object.entries(own).find(([word]) => line.includes(word)) ?? [];
    for (const value of values) {
      const typed = line.replace(/\s+#.*$/, "").replace(example, value);
      const [program, ...words] = (typed.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ""));
      expect(program).toBe("bin/gateway");
      expect(await gateway.cli(...words), typed).toMatchObject({ code: 0, stderr: "" });
    }
  }
}

/** Tables that contain a text. */
function tablesWith(dataDir: string, text: string): string[] {
  const db = new DatabaseSync(path.join(dataDir, "gateway.sqlite"), { readOnly: true });
  const names = db.prepare("select name from sqlite_master where type = 'table' order by name").all();
  const found = names.filter(({ name }) => JSON.stringify(db.prepare(`select * from "${name}"`).all()).includes(text));
  db.close();
  return found.map(({ name }) => String(name));
}

async function open(options: Parameters<typeof peopleGateway>[0] = {}) {
  const gateway = await peopleGateway(options);
  onTestFinished(() => gateway.close());
  const owner = await gateway.setUp();
  await gateway.manage("POST", "/workspaces", { slug: "research" });
  await gateway.manage("POST", "/workspaces/research/wallet/credits", { amount: "10" });
  await gateway.manage("PATCH", "/workspaces/research/key-policy", { personal_keys: true });
  const people = async (): Promise<Json[]> => (await gateway.manage("GET", "/people")).data;
  const idOf = async (email: string): Promise<string> => (await people()).find((one) => one.email === email).id;
  const erase = (id: string) => gateway.call(gateway.adminToken, `/manage/people/${id}/erase`, { method: "POST" });
  return { gateway, owner, people, idOf, erase };
}

/** Clara, with everything a person creates: sessions, keys, tokens, links, a node and provider keys. */
async function withClara({ gateway, idOf }: Awaited<ReturnType<typeof open>>) {
  const email = "clara@example.eu";
  const research = "/manage/workspaces/research";
  const clara = await gateway.join(email, "owner", "research");
  await gateway.manage("POST", "/workspaces/demo/members", { email, role: "admin" });
  const id = await idOf(email);
  await gateway.manage("POST", `/people/${id}/operator`, { operator: true });
  const made = async (path: string, body: object, method = "POST") => {
    const answer = await clara.ask(method, path, body);
    expect(answer.status, path).toBeLessThan(300);
    return answer.body;
  };
  const own = { key: "own-key-of-research", skip_test: true };
  await made(`${research}/nodes`, { name: "rack", country: "DE" });
  await made(`${research}/providers/deepinfra`, own, "PUT");
  await made("/manage/providers/nebius", own, "PUT");
  await made(`${research}/data-classes/acme-projects`, { terms: ["Blue Dune"] }, "PUT");
  const keys: string[] = [
    (await made(`${research}/keys`, { name: "own", member: email, environment: "live" })).key,
    (await made("/manage/workspaces/demo/keys", { name: "shared", environment: "live" })).key,
  ];
  const tokens: string[] = [
    (await made(`${research}/tokens`, { name: "program", access: "write" })).token,
    (await made("/manage/workspaces/demo/tokens", { name: "program", access: "read" })).token,
  ];
  const links: string[] = [
    (await made(`${research}/invitations`, { email: "friend@example.eu", role: "owner" })).link,
    (await gateway.manage("POST", "/workspaces/research/invitations", { email: "next@example.eu" })).link,
  ];
  const reset = (await gateway.manage("POST", `/people/${id}/reset-link`)).link;
  const standing = async () => ({
    session: (await clara.get(`${research}/keys`)).status,
    keys: await Promise.all(
      keys.map(async (key) => (await gateway.call(key, "/v1/chat/completions", { body: CHAT })).status),
    ),
    tokens: [
      (await gateway.call(tokens[0] ?? "", `${research}/keys`)).status,
      (await gateway.call(tokens[1] ?? "", "/manage/workspaces/demo/keys")).status,
    ],
    links: await Promise.all(
      links.map(async (link) => (await gateway.browser().get(`/manage/invitations/${tokenOf(link)}`)).status),
    ),
  });
  return { id, email, reset, standing };
}

const IN = { session: 200, keys: [200, 200], tokens: [200, 200], links: [200, 200] };
/** Neither a workspace key nor the operator's invitation of another person is hers. */
const OUT = { session: 401, keys: [401, 200], tokens: [401, 401], links: [404, 200] };

test("KEY-04 PORTAL-08 PORTAL-11 erasure leaves an id, revokes all access and keeps the address only where documented", async () => {
  const scene = await open();
  const { gateway, people, erase } = scene;
  const { id, email, reset, standing } = await withClara(scene);
  expect(await standing()).toEqual(IN);
  const erasedEmail = `erased-${id}@erased.invalid`;
  const left = {
    id,
    email: erasedEmail,
    name: "Erased",
    operator: false,
    disabled: true,
    erased: true,
    workspaces: [],
  };

  const erased = await erase(id);
  expect([erased.status, erased.body]).toMatchObject([200, { ...left, two_factor: false, passkeys: 0 }]);
  expect(await standing()).toEqual(OUT);
  expect(tablesWith(gateway.dataDir, email)).toEqual(["audit_log"]);
  const shown = async (where: string) => (await gateway.manage("GET", where)).data;
  expect(await shown("/workspaces/research/nodes")).toMatchObject([{ name: "rack", created_by: erasedEmail }]);
  expect(await shown("/workspaces/research/providers")).toMatchObject([
    { provider: "deepinfra", changed_by: erasedEmail },
  ]);
  expect(await shown("/workspaces/research/data-classes")).toMatchObject([{ changed_by: erasedEmail }]);
  const lines: Json[] = await shown("/audit?action=person.erase");
  expect(lines.map(({ target, workspace }) => [target, workspace])).toEqual([
    [id, null],
    [id, "research"],
  ]);
  expect(JSON.stringify(lines)).not.toContain(email);

  const again = await erase(id);
  expect([again.status, again.body]).toMatchObject([200, left]);
  for (const [where, body] of [
    ["disable", { disabled: false }],
    ["operator", { operator: true }],
    ["reset-link", {}],
  ] as const) {
    const refused = await gateway.call(gateway.adminToken, `/manage/people/${id}/${where}`, { body });
    expect([refused.status, refused.body.error?.message], where).toEqual([409, expect.stringContaining("erased")]);
  }
  const body = { token: tokenOf(reset), newPassword: "four blue submarines" };
  expect((await gateway.browser().post("/manage/auth/reset-password", body)).status).toBeGreaterThanOrEqual(400);
  expect((await gateway.browser().post("/manage/auth/sign-in/email", { email, password: PASSWORD })).status).toBe(401);

  await gateway.join(email, "owner", "research");
  expect((await people()).filter((one) => one.email === email || one.id === id)).toHaveLength(2);
  // What the previous person created is not theirs.
  expect(await standing()).toEqual(OUT);
});

test("PORTAL-11 refuses to erase oneself, the only operator or a sole owner, and changes nothing then", async () => {
  const scene = await open();
  const { gateway, owner, people, idOf, erase } = scene;
  const [ada, email] = [await idOf(OWNER.email), "clara@example.eu"];
  await gateway.join(email, "owner", "research");
  const clara = await idOf(email);
  const before = await people();
  const refusal = ({ status, body }: { status: number; body: Json }) => [status, body.error.code, body.error.message];

  expect(refusal(await owner.post(`/manage/people/${ada}/erase`))).toEqual([403, "not_allowed", expect.anything()]);
  expect(refusal(await erase(ada))).toEqual([409, "conflict", expect.stringContaining("is the only operator")]);
  expect(refusal(await erase("per_nobody"))).toEqual([404, "not_found", expect.anything()]);
  await gateway.manage("POST", "/workspaces/research/members", { email: "plain@example.eu", role: "admin" });
  const [status, code, message] = refusal(await erase(clara));
  expect([status, code]).toEqual([409, "conflict"]);
  expect(message).toBe(`${email} is the only owner of research. Make another member an owner first.`);
  expect(await people()).toEqual(before);

  await gateway.manage("PATCH", "/workspaces/research/members/plain@example.eu", { role: "owner" });
  expect((await owner.post(`/manage/people/${clara}/erase`)).status).toBe(200);
});

test("PORTAL-11 an interrupted erasure leaves no way to sign in, and a retry completes it", async () => {
  const nothing = async (): Promise<void> => {};
  let before = nothing;
  const scene = await open({
    prepare: async (store) => {
      const { change } = store;
      store.change = async (work) => {
        await before();
        return change(work);
      };
    },
  });
  const { gateway, people, erase } = scene;
  const { id, email, standing } = await withClara(scene);
  for (let at = 2; ; at += 1) {
    let changes = 0;
    // Each round lets one more write pass; completed writes are not repeated.
    before = async () => {
      changes += 1;
      if (changes === 2) throw new Error("the process has ended");
    };
    const { status } = await erase(id);
    before = nothing;
    if (status === 200) {
      expect(at).toBeGreaterThan(5);
      break;
    }
    expect(status).toBe(500);
    expect((await people()).find((one) => one.id === id)).toMatchObject({ email, disabled: true, erased: false });
    expect((await standing()).session).toBe(401);
    const signIn = { email, password: PASSWORD };
    expect((await gateway.browser().post("/manage/auth/sign-in/email", signIn)).status).toBe(403);
  }
  expect(await standing()).toEqual(OUT);
  expect(tablesWith(gateway.dataDir, email)).toEqual(["audit_log"]);
});

test("KEY-04 PORTAL-11 a customer erased as in the guide has no access, and no command of the guide fails", async () => {
  const { gateway, idOf } = await open();
  const research = "/workspaces/research";
  const post = (where: string, body: Json) => gateway.manage("POST", `${research}${where}`, body);
  const email = "clara@example.eu";
  const clara = await gateway.join(email, "owner", "research");
  const person = await idOf(email);
  const made = await post("/tokens", { name: "operator's", access: "write" });
  const own = (await clara.post(`/manage${research}/tokens`, { name: "clara's", access: "write" })).body;
  const invited = await post("/invitations", { email: "next@example.eu", role: "owner" });
  const keys = [
    await post("/keys", { name: "clara's key", environment: "live" }),
    (await gateway.call(made.token, `/manage${research}/keys`, { body: { name: "program", environment: "live" } }))
      .body,
  ];
  expect((await clara.post(`/manage${research}/nodes`, { name: "rack", country: "DE" })).status).toBe(201);
  const ownKey = { key: "own-key-of-research", skip_test: true };
  expect((await clara.ask("PUT", `/manage${research}/providers/deepinfra`, ownKey)).status).toBe(200);
  const terms = { terms: ["Blue Dune"] };
  expect((await clara.ask("PUT", `/manage${research}/data-classes/acme-projects`, terms)).status).toBe(200);
  await gateway.manage("PUT", `${research}/alerts`, { mail_to: [email] });
  const opened = () =>
    Promise.all([
      ...[made, own].map(({ token }) => gateway.call(token, `/manage${research}/keys`)),
      ...keys.map(({ key }) => gateway.call(key, "/v1/chat/completions", { body: CHAT })),
    ]);
  expect((await opened()).map(({ status }) => status)).toEqual([200, 200, 200, 200]);

  await type(gateway, ofPerson, { "key_019a…": [keys[0].id], "per_…": [person] });
  expect(tablesWith(gateway.dataDir, email)).toEqual(["alert_rules", "audit_log"]);
  await type(gateway, ofCustomer, {
    "tok_…": [made.id],
    "lnk_…": [invited.id],
    "key_019a…": keys.map(({ id }) => id),
  });

  expect(tablesWith(gateway.dataDir, email)).toEqual(["audit_log"]);
  expect((await opened()).map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  const account = { name: "Next", password: PASSWORD };
  expect((await gateway.browser().post(`/manage/invitations/${tokenOf(invited.link)}/accept`, account)).status).toBe(
    404,
  );
  const left = async (what: string) => (await gateway.manage("GET", `${research}${what}`)).data;
  expect((await left("/invitations")).filter(({ state }: Json) => state === "open")).toEqual([]);
  expect((await left("/keys")).filter(({ state }: Json) => state !== "revoked")).toEqual([]);
  for (const what of ["/members", "/tokens", "/nodes", "/providers", "/data-classes"])
    expect(await left(what), what).toEqual([]);
  expect((await gateway.browser().post("/manage/auth/sign-in/email", { email, password: PASSWORD })).status).toBe(401);
});
