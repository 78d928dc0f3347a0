import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Mailbox, openMailbox } from "../support/alerts.ts";
import { openBooks } from "../support/books.ts";
import { expectAccessible } from "./support/accessible.ts";
import { addAuthenticator } from "./support/authenticator.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

const PASSWORD = "seven wet otters knit";

describe.skipIf(!hasChromium)("a gateway that is open and sends mails", () => {
  let portal: Portal;
  let mailbox: Mailbox;
  beforeAll(async () => {
    mailbox = await openMailbox();
    portal = await openPortal({
      GATEWAY_SMTP_URL: mailbox.url,
      GATEWAY_MAIL_FROM: "gateway@example.eu",
      GATEWAY_SIGNUP: "open",
    });
    await portal.person("operator");
  });
  afterAll(async () => {
    await portal?.close();
    await mailbox?.close();
  });

  /** The link in the latest email to an address. */
  const linkTo = async (email: string, page: string): Promise<string> => {
    const find = () => {
      const text = mailbox.mails.findLast(({ to }) => to.includes(email))?.text ?? "";
      const whole = text.replaceAll("=\n", "").replaceAll("=3D", "=");
      return new RegExp(`https?://\\S+${page}\\?token=[\\w.-]+`).exec(whole)?.[0] ?? "";
    };
    await expect.poll(find, { timeout: 15_000 }).not.toBe("");
    return find();
  };

  test("PORTAL-01 sign-up: a mailed link makes the account, and it owns the workspace that it creates", async () => {
    const page = await portal.page("visitor");
    await page.goto(`${portal.origin}/app/sign-in`);
    await page.getByRole("link", { name: "Sign up" }).click();
    await page.getByRole("heading", { name: "Sign up" }).waitFor();
    await page.getByLabel("Email").fill("nina@example.eu");
    await page.getByRole("button", { name: "Send link" }).click();
    await page.getByText("Check your inbox").waitFor();
    await expectAccessible(page);
    await page.goto(await linkTo("nina@example.eu", "/app/sign-up"));
    await page.getByLabel("Name").fill("Nina Rossi");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("button", { name: "Create workspace" }).click();
    await page.getByLabel("Name").fill("Blue Lab");
    await screenshot(page, "create-workspace");
    await page.getByRole("dialog").getByRole("button", { name: "Create workspace", exact: true }).click();
    await page.waitForURL(portal.at("", "blue-lab"));
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Audit log" }).waitFor();
  });

  test("PORTAL-01 a forgotten password: a mailed link sets a new one", async () => {
    const page = await portal.page("visitor");
    await page.goto(`${portal.origin}/app/sign-in`);
    await page.getByRole("link", { name: "Forgot password?" }).click();
    // Signing in has a field of the same name, and stays until the next screen is there.
    await page.getByRole("heading", { name: "Reset password" }).waitFor();
    await page.getByLabel("Email").fill("ada@example.eu");
    await page.getByRole("button", { name: "Send link" }).click();
    await page.getByText("Check your inbox").waitFor();
    await page.goto(await linkTo("ada@example.eu", "/app/reset-password"));
    await page.getByLabel("New password").fill(PASSWORD);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByRole("main").getByRole("link", { name: "Sign in" }).click();
    await page.getByLabel("Email").fill("ada@example.eu");
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.waitForURL(portal.at());
  });

  test("PORTAL-11 changing sign-in methods requires reauthentication", async () => {
    const { password } = await portal.person("admin");
    const page = await portal.page("admin", { allow: [/status of 40[13]/] });
    await addAuthenticator(page);
    const db = openBooks(portal.gateway.dataDir);
    db.prepare("update people_sessions set created_at = ?").run(new Date(Date.now() - 3_600_000).toISOString());
    db.close();
    await page.goto(`${portal.origin}/app/account`);
    await page.getByRole("button", { name: "Add passkey" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("Key on a ring");
    await page.getByRole("button", { name: "Continue" }).click();
    const again = page.getByRole("dialog", { name: "Confirm your identity" });
    await again.getByLabel("Password").fill("not the password");
    await again.getByRole("button", { name: "Continue" }).click();
    await again.getByRole("alert").filter({ hasText: /./ }).first().waitFor();
    await expectAccessible(page);
    await again.getByLabel("Password").fill(password);
    await again.getByRole("button", { name: "Continue" }).click();
    await page.getByText("Key on a ring").waitFor();
  });
});
