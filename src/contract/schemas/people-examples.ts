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

export const session = {
  id: "ses_019a864f0b2c7f3a8e21d04c5b6a7992",
  created_at: AT,
  last_seen_at: AT,
  expires_at: LATER,
  address: "203.0.113.7",
  user_agent: "Mozilla/5.0",
  current: true,
};

export const passkey = {
  id: "pk_019a864f0b2c7f3a8e21d04c5b6a7993",
  name: "Laptop",
  created_at: AT,
  backed_up: true,
};

const invited = {
  id: "lnk_019a864f0b2c7f3a8e21d04c5b6a7994",
  email: "ada@example.eu",
  role: "member",
  limits: { day: null, month: "20.00" },
  created_at: AT,
  expires_at: LATER,
};

export const invitation = { ...invited, invited_by: "grace@example.eu", state: "open" };
export const invitationMade = { ...invited, link: "https://gateway.example.eu/app/invite?token=…", mailed: true };
export const resetLink = { link: "https://gateway.example.eu/app/reset-password?token=…", expires_at: LATER };
export const setupLink = { link: "https://gateway.example.eu/app/setup?token=…", expires_at: LATER };

export const person = {
  id: "per_019a864f0b2c7f3a8e21d04c5b6a7991",
  email: "ada@example.eu",
  name: "Ada",
  operator: false,
  disabled: false,
  erased: false,
  two_factor: true,
  passkeys: 1,
  created_at: AT,
  last_seen_at: AT,
  workspaces: [{ slug: "research", role: "admin" }],
};

export const erased = {
  ...person,
  email: `erased-${person.id}@erased.invalid`,
  name: "Erased",
  disabled: true,
  erased: true,
  two_factor: false,
  passkeys: 0,
  last_seen_at: null,
  workspaces: [],
};
