import { readFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { cleanUp, temporaryFolder } from "../edge/child.ts";
import type { Json } from "../support/gateway.ts";
import { PASSWORD, type PeopleGateway, peopleGateway, tokenOf } from "../support/people.ts";

const guide = readFileSync(path.join(PROJECT_ROOT, "docs/guides/people.md"), "utf8");
const section = /^## Erasing a person or a customer$.*?^## /ms.exec(guide)?.[0] ?? "";
const [ofPerson = "", inStore = "", ofCustomer = ""] = [...section.matchAll(/^```(?:sh|sql)\n(.*?)^```/gms)].map(
  ([, lines = ""]) => lines,
);

/** Lines of the guide, with what a reader has in the place of its examples: once for each where they have several. */
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

test("KEY-04 PORTAL-11 a customer who was erased as the guide says has no way in, and no command of it fails", async () => {
  onTestFinished(cleanUp);
  const dataDir = temporaryFolder();
  let gateway = await peopleGateway({ dataDir });
  onTestFinished(() => gateway.close());
  const research = "/workspaces/research";
  const post = (where: string, body: Json) => gateway.manage("POST", `${research}${where}`, body);
  await gateway.setUp();
  await gateway.manage("POST", "/workspaces", { slug: "research" });
  await post("/wallet/credits", { amount: "10" });
  const email = "clara@example.eu";
  const clara = await gateway.join(email, "owner", "research");
  const person = (await gateway.manage("GET", "/people")).data.find((one: Json) => one.email === email).id;
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
  await gateway.manage("PUT", `${research}/alerts`, { mail_to: [email] });
  const chat = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }] };
  const opened = () =>
    Promise.all([
      ...[made, own].map(({ token }) => gateway.call(token, `/manage${research}/keys`)),
      ...keys.map(({ key }) => gateway.call(key, "/v1/chat/completions", { body: chat })),
    ]);
  expect((await opened()).map(({ status }) => status)).toEqual([200, 200, 200, 200]);

  await type(gateway, ofPerson, { "key_019a…": [keys[0].id], "ada@example.eu": [email], "per_…": [person] });
  await gateway.close();
  const db = new DatabaseSync(path.join(dataDir, "gateway.sqlite"));
  db.exec(inStore.replaceAll("ada@example.eu", email));
  const tables = ["people", "people_links", "members", "management_tokens", "nodes", "workspace_credentials"];
  for (const table of tables)
    expect(JSON.stringify(db.prepare(`select * from ${table}`).all()), table).not.toContain(email);
  db.close();
  gateway = await peopleGateway({ dataDir });
  await type(gateway, ofCustomer, {
    "tok_…": [made.id],
    "lnk_…": [invited.id],
    "key_019a…": keys.map(({ id }) => id),
  });

  expect((await opened()).map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  const account = { name: "Next", password: PASSWORD };
  expect((await gateway.browser().post(`/manage/invitations/${tokenOf(invited.link)}/accept`, account)).status).toBe(
    404,
  );
  const left = async (what: string) => (await gateway.manage("GET", `${research}${what}`)).data;
  expect((await left("/invitations")).filter(({ state }: Json) => state === "open")).toEqual([]);
  expect((await left("/keys")).filter(({ state }: Json) => state !== "revoked")).toEqual([]);
  for (const what of ["/members", "/tokens", "/nodes", "/providers"]) expect(await left(what), what).toEqual([]);
  expect((await gateway.browser().post("/manage/auth/sign-in/email", { email, password: PASSWORD })).status).toBe(401);
});
