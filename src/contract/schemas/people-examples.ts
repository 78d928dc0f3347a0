/** Examples of people and signing in; a test holds each against its schema. */
const AT = "2026-11-15T09:30:00.000Z";
const LATER = "2026-11-22T09:30:00.000Z";

export const authAnswer = { user: { email: "ada@example.eu", name: "Ada" } };

export const me = {
  person: {
    id: "per_019a864f0b2c7f3a8e21d04c5b6a7991",
    email: "ada@example.eu",
    name: "Ada",
    operator: false,
    two_factor: true,
    passkeys: 1,
    has_password: true,
    session: { id: "ses_019a864f0b2c7f3a8e21d04c5b6a7992", created_at: AT, fresh: true },
  },
  workspaces: [
    {
      id: "ws_019a864f0b2c7f3a8e21d04c5b6a7988",
      slug: "research",
      name: "Research",
      currency: "EUR",
      role: "admin",
    },
  ],
  may_create_workspace: false,
  sign_in: { password: true, passkey: true, oidc: null, signup: "invited", setup_needed: false, mail: true },
};

export const newAccount = { name: "Ada", password: "a long sentence of your own" };
export const setup = { token: "…", email: "ada@example.eu", ...newAccount };
export const setupDone = { email: "ada@example.eu", name: "Ada", operator: true, workspace: "demo" };

export const invitationShown = {
  workspace: { slug: "research", name: "Research" },
  role: "member",
  email: "ada@example.eu",
  expires_at: LATER,
  account_exists: false,
};
