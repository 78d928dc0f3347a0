import type { Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";
import { addAuthenticator, type VirtualAuthenticator } from "./support/authenticator.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";

const VERIFY = "**/manage/auth/passkey/verify-authentication";
const OPTIONS = "**/manage/auth/passkey/generate-authenticate-options*";

/** The browser prints every refusal as an error. */
const REFUSED = [/status of 40[0134]/];

const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

describe.skipIf(!hasChromium)("passkey ceremonies of a real browser", () => {
  let portal: Portal;
  let page: Page;
  let authenticator: VirtualAuthenticator;
  /** The last assertion that signed in. */
  let accepted: JsonObject = {};

  beforeAll(async () => {
    portal = await openPortal();
  });
  afterAll(() => portal?.close());

  const me = async () => {
    const response = await page.request.get(`${portal.origin}/manage/me`);
    return objectOf(objectOf(await response.json())["person"])["email"] ?? null;
  };

  /** Signs in with the passkey; the body of the assertion may be changed on its way. Returns who is signed in then. */
  async function signIn(change: (assertion: JsonObject) => JsonObject = (assertion) => assertion) {
    await page.context().clearCookies();
    await page.goto(`${portal.origin}/app/sign-in`);
    const forward = async (route: Route) => {
      const body = objectOf(route.request().postDataJSON());
      const response = change(objectOf(body["response"]));
      const answer = await route.fetch({ postData: JSON.stringify({ ...body, response }) });
      if (answer.ok()) accepted = response;
      await route.fulfill({ response: answer });
    };
    await page.route(VERIFY, forward);
    const settled = Promise.race([
      page.waitForURL(portal.at()).then(() => undefined),
      page.getByRole("alert").filter({ hasText: /./ }).first().waitFor(),
    ]);
    await page.getByRole("button", { name: "Sign in with passkey" }).click();
    await settled;
    await page.unroute(VERIFY, forward);
    return me();
  }

  const withResponse = (assertion: JsonObject, more: JsonObject): JsonObject => ({
    ...assertion,
    response: { ...objectOf(assertion["response"]), ...more },
  });

  test("PORTAL-01 PORTAL-11 a passkey signs in its owner; replayed, changed and copied ones are refused", async () => {
    const { email } = await portal.person("member");
    page = await portal.page("member", { allow: REFUSED });
    authenticator = await addAuthenticator(page);
    await page.goto(`${portal.origin}/app/account`);
    await page.getByRole("button", { name: "Add passkey" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("Laptop");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("Laptop", { exact: true }).waitFor();
    const session = await page.context().cookies();
    expect(await signIn()).toBe(email);

    const earlier = accepted;
    const clientData = (more: JsonObject) => (assertion: JsonObject) => {
      const text = Buffer.from(String(objectOf(assertion["response"])["clientDataJSON"]), "base64url").toString();
      const changed = JSON.stringify({ ...objectOf(JSON.parse(text)), ...more });
      return withResponse(assertion, { clientDataJSON: Buffer.from(changed).toString("base64url") });
    };
    const falsified: readonly (readonly [string, (assertion: JsonObject) => JsonObject])[] = [
      ["an earlier assertion", () => earlier],
      ["the signature of an earlier one", (now) => withResponse(now, { signature: signatureOf(earlier) })],
      ["another origin", clientData({ origin: "https://evil.example" })],
      ["another challenge", clientData({ challenge: "AAAA" })],
      ["another ceremony", clientData({ type: "webauthn.create" })],
      ["another credential", (now) => ({ ...now, id: "AAAAAAAAAAAAAAAAAAAAAA", rawId: "AAAAAAAAAAAAAAAAAAAAAA" })],
      ["no signature", (now) => withResponse(now, { signature: "" })],
    ];
    for (const [name, change] of falsified) expect([name, await signIn(change)]).toEqual([name, null]);
    expect(await signIn()).toBe(email);

    // A copy of the authenticator: its counter is behind that of the original.
    await authenticator.rewind();
    expect(await signIn()).toBeNull();

    // The browser asks for verification; a page that does not still gets no session.
    await authenticator.setUserVerified(false);
    const discourage = async (route: Route) => {
      const answer = await route.fetch();
      const options = { ...objectOf(await answer.json()), userVerification: "discouraged" };
      await route.fulfill({ response: answer, json: options });
    };
    await page.route(OPTIONS, discourage);
    expect(await signIn()).toBeNull();
    await page.unroute(OPTIONS, discourage);
    await authenticator.setUserVerified(true);

    // Removed from the account, which was signed in to before.
    await page.context().clearCookies();
    await page.context().addCookies(session);
    await page.goto(`${portal.origin}/app/account`);
    await page.getByRole("button", { name: "Actions for Laptop" }).click();
    await page.getByRole("menuitem", { name: "Remove" }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Remove/ })
      .click();
    await page.getByText("Laptop", { exact: true }).waitFor({ state: "detached" });
    expect(await signIn()).toBeNull();
  });
});

function signatureOf(assertion: JsonObject): string {
  return String(objectOf(assertion["response"])["signature"]);
}
