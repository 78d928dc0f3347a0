import { afterAll, beforeAll, expect, test } from "vitest";
import { type Mailbox, openMailbox } from "../support/alerts.ts";
import { Authenticator, addPasskey, byPasskey } from "../support/authenticator.ts";
import { ageSessions, type Browser, OWNER, PASSWORD, type PeopleGateway, peopleGateway } from "../support/people.ts";
import { totpOf } from "../support/totp.ts";

let gateway: PeopleGateway;
let mailbox: Mailbox;
beforeAll(async () => {
  mailbox = await openMailbox();
  gateway = await peopleGateway({
    env: {
      GATEWAY_SIGN_IN_ACCOUNT_TRIES: "3",
      GATEWAY_SIGN_IN_ADDRESS_TRIES: "1000",
      GATEWAY_TRUSTED_PROXIES: "127.0.0.1",
      GATEWAY_SMTP_URL: mailbox.url,
      GATEWAY_MAIL_FROM: "gateway@example.eu",
    },
  });
  await gateway.setUp();
});
afterAll(async () => {
  await gateway.close();
  await mailbox.close();
});

const WRONG = "three red bicycles";
const age = (email: string) => ageSessions(gateway.dataDir, email, 16);
const signIn = async (browser: Browser, email: string, password = PASSWORD) =>
  (await browser.post("/manage/auth/sign-in/email", { email, password })).status;
const sessionOf = async (browser: Browser) => (await browser.get("/manage/me")).body.person?.session.id;
const times = async (count: number, action: () => Promise<number>) => {
  const statuses: number[] = [];
  while (statuses.length < count) statuses.push(await action());
  return statuses;
};

const browserAt = (address: string) => gateway.browser({ "x-forwarded-for": address });

test("SAFE-03 wrong passwords by strangers slow down only their own address, and no known device or passkey", async () => {
  const email = "attacked@example.eu";
  const device = await gateway.join(email);
  const authenticator = new Authenticator("localhost", gateway.url);
  await addPasskey(device, authenticator);
  await device.post("/manage/auth/sign-out");
  for (const address of ["203.0.113.1", "127.0.0.1"])
    expect(await times(5, () => signIn(browserAt(address), email, WRONG))).toEqual([401, 401, 401, 429, 429]);
  // An unknown browser at another address, a browser that signed in before, and a passkey at the attacker's own address.
  expect(await signIn(browserAt("203.0.113.2"), email)).toBe(200);
  expect(await signIn(device, email)).toBe(200);
  expect((await byPasskey(gateway.browser(), authenticator)).status).toBe(200);
  // The device has its own attempts, which strangers cannot use up; a cookie of another account does not help.
  await device.post("/manage/auth/sign-out");
  expect(await times(4, () => signIn(device, email, WRONG))).toEqual([401, 401, 401, 429]);
  const other = await gateway.join("neighbour@example.eu");
  await other.post("/manage/auth/sign-out");
  expect(await signIn(other, email)).toBe(429);
  expect(await signIn(other, "neighbour@example.eu")).toBe(200);
});

test("SAFE-03 the owner is notified by mail once about failed sign-ins of others; an address without an account is not", async () => {
  const [email, absent] = ["notified@example.eu", "nobody@example.eu"];
  const device = await gateway.join(email);
  await device.post("/manage/auth/sign-out");
  const mailsTo = (to: string) =>
    mailbox.mails.filter((mail) => mail.to.includes(to) && mail.text.includes("Subject: Failed sign-ins"));
  for (const name of [email, absent]) {
    for (const address of ["203.0.113.7", "203.0.113.8"]) await times(2, () => signIn(browserAt(address), name, WRONG));
    expect(await times(3, () => signIn(browserAt("203.0.113.9"), name, WRONG))).toEqual([401, 401, 401]);
  }
  await expect.poll(() => mailsTo(email).length).toBe(1);
  const text = mailsTo(email)[0]?.text.replaceAll("=\n", "") ?? "";
  // Sent at the third; the ones that fail meanwhile count too.
  expect(text).toMatch(/There were [3-7] failed sign-ins to your account/);
  expect(text).toMatch(/203\.0\.113\.7 and [12] more/);
  const { data } = await gateway.manage("GET", "/audit?action=person.failed_sign_ins_notice");
  expect(data.filter(({ detail }: { detail: { address: string } }) => detail.address === "203.0.113.7")).toHaveLength(
    1,
  );
  expect(mailsTo(absent)).toEqual([]);
});

/** Sign-ins that wait for their code: each has its own challenge. */
async function waitingForCode(count: number, email: string, browser: () => Browser): Promise<Browser[]> {
  const waiting = Array.from({ length: count }, browser);
  for (const one of waiting) expect(await signIn(one, email)).toBe(200);
  return waiting;
}

const giveCode = async (browser: Browser, code: string) =>
  (await browser.post("/manage/auth/two-factor/verify-totp", { code })).status;

async function withSecondFactor(device: Browser): Promise<string> {
  const { totpURI } = (await device.post("/manage/auth/two-factor/enable", { password: PASSWORD })).body;
  expect(await giveCode(device, totpOf(totpURI))).toBe(200);
  return totpURI;
}

test("SAFE-03 new sign-ins with the password get no new codes; a known device and a passkey do, and the owner is notified", async () => {
  const email = "half-known@example.eu";
  const device = await gateway.join(email);
  const uri = await withSecondFactor(device);
  const authenticator = new Authenticator("localhost", gateway.url);
  await addPasskey(device, authenticator);
  await device.post("/manage/auth/sign-out");
  // At the same time, so that no wrong code is known when the next one is checked.
  const thieves = await waitingForCode(9, email, () => browserAt("203.0.113.40"));
  const statuses = await Promise.all(thieves.map((thief) => giveCode(thief, "000000")));
  expect(statuses.toSorted()).toEqual([401, 401, 401, 401, 401, 401, 429, 429, 429]);
  // Nor with another address.
  const [elsewhere] = await waitingForCode(1, email, () => browserAt("203.0.113.41"));
  expect(elsewhere && (await giveCode(elsewhere, "000000"))).toBe(429);
  expect((await byPasskey(browserAt("203.0.113.40"), authenticator)).status).toBe(200);
  expect(await signIn(device, email)).toBe(200);
  expect(await giveCode(device, totpOf(uri, 1))).toBe(200);
  const mail = () => mailbox.mails.find(({ to, text }) => to.includes(email) && text.includes("Failed sign-ins"))?.text;
  await expect.poll(mail).toBeDefined();
  expect(mail()?.replaceAll("=\n", "")).toMatch(/[3-6] of them had your correct password and a wrong code/);
});

test("PORTAL-11 a code counts against the challenge that it is checked for, however its cookie is spelled", async () => {
  const [email, own] = ["spelled@example.eu", "speller@example.eu"];
  for (const one of [email, own]) await withSecondFactor(await gateway.join(one));
  const name = "gateway.two_factor";
  const [theirs] = await waitingForCode(1, email, () => browserAt("203.0.113.50"));
  const [mine] = await waitingForCode(1, own, () => browserAt("203.0.113.50"));
  const cookie = `${name} =${theirs?.cookies.get(name)}; ${name}=${mine?.cookies.get(name)}`;
  const give = async () =>
    (await browserAt("203.0.113.50").ask("POST", "/manage/auth/two-factor/verify-totp", { code: "000000" }, { cookie }))
      .status;
  expect(await times(4, give)).toEqual([401, 401, 401, 429]);
  const { data } = await gateway.manage("GET", "/audit?action=person.sign_in_failed&limit=100");
  const accounts = data.map(({ detail }: { detail: { account: string } }) => detail.account);
  expect([accounts.includes(own), accounts.includes(email)]).toEqual([true, false]);
  expect(theirs && (await giveCode(theirs, "000000"))).toBe(401);
});

test("SAFE-03 used up codes refill within the window, and then the right code signs in", async () => {
  // A token every two seconds.
  const quick = await peopleGateway({
    env: { GATEWAY_SIGN_IN_ACCOUNT_TRIES: "3", GATEWAY_SIGN_IN_WINDOW: "12s" },
  });
  await quick.setUp();
  const email = "refilled@example.eu";
  const uri = await withSecondFactor(await quick.join(email));
  const waiting = await waitingForCode(9, email, () => quick.browser());
  const statuses = await Promise.all(waiting.map((one) => giveCode(one, "000000")));
  expect(statuses).toContain(429);
  const [person] = await waitingForCode(1, email, () => quick.browser());
  await expect.poll(() => person && giveCode(person, totpOf(uri, 1)), { timeout: 12_000, interval: 200 }).toBe(200);
  await quick.close();
});

test("PORTAL-11 failed sign-ins of others do not block a signed-in person's reauthentication", async () => {
  const email = "robbed@example.eu";
  const person = await gateway.join(email);
  age(email);
  const thief = gateway.browser();
  await signIn(thief, email);
  age(email);
  const [own, theirs] = [await sessionOf(person), await sessionOf(thief)];
  const end = async () => (await person.ask("DELETE", `/manage/me/sessions/${theirs}`)).status;
  expect(await end()).toBe(403);
  const { id } = (await person.get("/manage/me")).body.person;
  // Also by identifiers that are no address and name something else here.
  for (const identifier of [email, own, id, `session ${own}`])
    expect(await times(4, () => signIn(gateway.browser(), identifier, WRONG))).toContain(429);
  expect(await signIn(gateway.browser(), email)).toBe(429);
  expect([await signIn(person, email.toUpperCase()), await end()]).toEqual([200, 200]);
});

test("PORTAL-11 a session has the same password attempts as others, and no more for another person", async () => {
  const [email, other] = ["guessed@example.eu", "other@example.eu"];
  const thief = await gateway.join(email);
  await gateway.join(other);
  expect(await times(4, () => signIn(thief, email, WRONG))).toEqual([401, 401, 401, 429]);
  expect([await signIn(thief, email), await signIn(gateway.browser(), email)]).toEqual([429, 200]);
  expect(await times(4, () => signIn(thief, other, WRONG))).toEqual([401, 401, 401, 429]);
  expect(await signIn(gateway.browser(), other)).toBe(429);
  expect(await times(4, () => signIn(thief, "absent@example.eu", WRONG))).toEqual([401, 401, 401, 429]);
});

test("PORTAL-11 many new sessions share five budgets of attempts, and one session does not use up others'", async () => {
  const email = "many@example.eu";
  await gateway.join(email);
  const sessions = Array.from({ length: 7 }, () => gateway.browser());
  for (const browser of sessions) expect(await signIn(browser, email)).toBe(200);
  const tried: number[] = [];
  for (const browser of sessions) tried.push(...(await times(20, () => signIn(browser, email, WRONG))));
  expect(tried.filter((status) => status === 401)).toHaveLength(15);
  expect(await signIn(gateway.browser(), email)).toBe(200);
});

test("PORTAL-11 wrong codes of one session do not block another one's new password", async () => {
  const email = "overtaken@example.eu";
  const thief = await gateway.join(email);
  const person = gateway.browser();
  await signIn(person, email);
  const guess = async () => (await thief.get("/manage/auth/device?user_code=WRONGONE")).status;
  expect(await times(4, guess)).toEqual([400, 400, 400, 429]);
  const change = { currentPassword: PASSWORD, newPassword: "eight green bicycles" };
  expect((await person.post("/manage/auth/change-password", change)).status).toBe(200);
});

test("PORTAL-11 a session that omits the origin reads no more codes and uses up no other attempts", async () => {
  const email = "unsaid@example.eu";
  const joined = await gateway.join(email);
  const read = async (browser: Browser, more: Record<string, string> = {}) => {
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    return (await fetch(`${gateway.url}/manage/auth/device?user_code=WRONGONE`, { headers: { cookie, ...more } }))
      .status;
  };
  const portal = { "x-svc-portal": "1" };
  expect(await times(4, () => read(joined))).toEqual([400, 400, 400, 429]);
  expect([await read(joined, portal), await signIn(joined, email)]).toEqual([429, 200]);
  const sessions = Array.from({ length: 7 }, () => gateway.browser());
  for (const browser of sessions) expect(await signIn(browser, email)).toBe(200);
  const tried: number[] = [];
  for (const browser of sessions) tried.push(await read(browser, portal), ...(await times(3, () => read(browser))));
  expect(tried.filter((status) => status === 400)).toHaveLength(4 * 3);
});

test.each(["approve", "deny"])(
  "PORTAL-11 device codes that a session looks up without an origin count where it would %s them",
  async (action) => {
    const person = await gateway.join(`${action}@example.eu`);
    const cookie = [...person.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const url = `${gateway.url}/manage/auth/device?user_code=WRONGONE`;
    const read = async () => (await fetch(url, { headers: { cookie } })).status;
    const guess = async () => (await person.post(`/manage/auth/device/${action}`, { userCode: "WRONGONE" })).status;
    expect([...(await times(2, read)), ...(await times(2, guess)), await read()]).toEqual([400, 400, 400, 429, 429]);
  },
);

test("PORTAL-11 foreign pages use up no attempts of their visitors", async () => {
  const small = await peopleGateway({
    env: {
      GATEWAY_SIGN_IN_ADDRESS_TRIES: "4",
      GATEWAY_SIGNUP: "open",
      GATEWAY_SMTP_URL: "smtp://127.0.0.1:1",
      GATEWAY_MAIL_FROM: "gateway@example.eu",
    },
  });
  await small.setUp();
  const reads = ["auth/device?user_code=WRONGONE", "setup?token=wrong", "invitations/wrong", "sign-up?token=wrong"];
  const read = async (path: string, headers: Record<string, string>) =>
    (await fetch(`${small.url}/manage/${path}`, { headers })).status;
  const foreign = [
    { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" },
    { "sec-fetch-site": "same-site" },
    { origin: "https://evil.example" },
  ];
  for (const path of reads)
    for (const headers of foreign) expect([path, await read(path, headers)]).toEqual([path, 403]);
  // Browsers send no origin data over plain HTTP, nor do programs: both have their own attempts.
  for (const path of reads) expect([path, await read(path, {})]).not.toEqual([path, 403]);
  expect(await read("setup?token=wrong", { cookie: "some=cookie" })).toBe(429);
  const wrong = { email: OWNER.email, password: WRONG };
  expect((await small.browser().post("/manage/auth/sign-in/email", wrong)).status).toBe(401);
  const secure = { cookie: "some=cookie", "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" };
  const plain = { cookie: "some=cookie", "x-svc-portal": "1" };
  for (const path of reads.slice(0, 2)) expect([path, await read(path, secure)]).not.toEqual([path, 403]);
  expect(await read("invitations/wrong", plain)).toBe(404);
  expect([await read("setup?token=wrong", secure), await read("setup?token=wrong", plain)]).toEqual([429, 429]);
  // Lookups of passkeys have a counter of their own.
  const browser = small.browser();
  const unknown = { response: { id: "unknown", rawId: "unknown", type: "public-key", response: {} } };
  const lookUp = async () => {
    await browser.get("/manage/auth/passkey/generate-authenticate-options");
    return (await browser.post("/manage/auth/passkey/verify-authentication", unknown)).status;
  };
  const lookups = await times(5, lookUp);
  expect([lookups.slice(0, 4).includes(429), lookups[4]]).toEqual([false, 429]);
  await small.close();
});
