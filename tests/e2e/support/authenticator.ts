import type { Page } from "playwright-core";
import { onTestFinished } from "vitest";

const OPTIONS = {
  protocol: "ctap2",
  transport: "internal",
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const;

export type VirtualAuthenticator = {
  /** Whether it recognizes its person; it is always touched. */
  setUserVerified(isUserVerified: boolean): Promise<void>;
  /** Sets its counters back, as if it were a copy of an earlier state. */
  rewind(): Promise<void>;
};

/** An authenticator in the browser that knows its person and is always touched: passkeys without a hand. */
export async function addAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const devtools = await page.context().newCDPSession(page);
  onTestFinished(() => devtools.detach());
  await devtools.send("WebAuthn.enable");
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", { options: OPTIONS });
  return {
    async setUserVerified(isUserVerified) {
      await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
    },
    async rewind() {
      const { credentials } = await devtools.send("WebAuthn.getCredentials", { authenticatorId });
      await devtools.send("WebAuthn.clearCredentials", { authenticatorId });
      for (const credential of credentials)
        await devtools.send("WebAuthn.addCredential", { authenticatorId, credential: { ...credential, signCount: 0 } });
    },
  };
}
