import { z } from "zod";
import { LimitInput } from "./manage-limits.ts";
import { Label, Money, PageQuery, Time } from "./manage-values.ts";

const RoleName = z.enum(["owner", "admin", "member"]);
const Email = z.email("must be an email address").max(254);
const Name = Label(100);
/** How long it must be is said where it is looked at, in words for people. */
const Password = z.string().max(4096, "must have at most 256 characters");
const Token = z.string().min(1).max(200);

const SignInWays = z
  .object({
    password: z.boolean(),
    passkey: z.boolean(),
    oidc: z.object({ name: z.string() }).nullable().meta({ description: "Single sign-on; null: not configured." }),
    signup: z.enum(["invited", "open"]),
    setup_needed: z.boolean().meta({ description: "There is no operator yet: the set-up link is open." }),
    mail: z
      .boolean()
      .meta({ description: "Whether the gateway can send email; without it, passwords cannot be reset by link." }),
  })
  .meta({ id: "SignInWays" });

const PersonalView = z
  .object({
    id: z.string(),
    email: z.string(),
    name: z.string(),
    operator: z.boolean(),
    two_factor: z.boolean(),
    passkeys: z.number(),
    has_password: z.boolean(),
    session: z.object({
      id: z.string(),
      created_at: Time,
      fresh: z.boolean().meta({ description: "Recent enough to remove a sign-in method." }),
    }),
  })
  .meta({ id: "Myself" });

export const MeView = z
  .object({
    person: PersonalView.nullable().meta({ description: "Null: not signed in." }),
    workspaces: z.array(
      z.object({ id: z.string(), slug: z.string(), name: z.string(), currency: z.string(), role: RoleName }),
    ),
    may_create_workspace: z.boolean(),
    sign_in: SignInWays,
  })
  .meta({ id: "Me" });

export const MeChange = z.strictObject({ name: Name }).meta({ id: "MeChange" });

export const SessionView = z
  .object({
    id: z.string(),
    created_at: Time,
    last_seen_at: Time,
    expires_at: Time,
    address: z.string().nullable(),
    user_agent: z.string().nullable(),
    current: z.boolean(),
  })
  .meta({ id: "Session" });

export const SessionEnded = z.object({ id: z.string(), ended: z.boolean() }).meta({ id: "SessionEnded" });
export const SessionsEnded = z.object({ ended: z.number() }).meta({ id: "SessionsEnded" });

export const PasskeyView = z
  .object({ id: z.string(), name: z.string().nullable(), created_at: Time.nullable(), backed_up: z.boolean() })
  .meta({ id: "Passkey" });

export const TokenQuery = z.strictObject({ token: Token });

export const SetupStanding = z
  .object({
    good: z.boolean().meta({ description: "The link can be used." }),
    needed: z.boolean().meta({ description: "No operator exists yet." }),
  })
  .meta({ id: "SetupStanding" });

export const SetupBody = z
  .strictObject({ token: Token, name: Name, email: Email, password: Password })
  .meta({ id: "Setup" });

export const SetupDone = z
  .object({
    email: z.string(),
    name: z.string(),
    operator: z.boolean(),
    workspace: z.string().nullable().meta({ description: "Slug of the workspace that the user owns." }),
  })
  .meta({ id: "SetupDone" });

export const LinkMade = z.object({ link: z.string(), expires_at: Time }).meta({ id: "LinkMade" });

export const InvitationBody = z
  .strictObject({
    email: Email,
    role: RoleName.nullish().meta({ description: "Default: member." }),
    limits: z.strictObject({ day: LimitInput, month: LimitInput }).nullish().meta({
      description:
        "Spend limits of the new member, in the workspace's currency; they apply to personal keys and the playground.",
    }),
  })
  .meta({ id: "InvitationCreate" });

const Limit = Money.nullable().meta({ description: "Null: no limit." });
const invitation = {
  id: z.string(),
  email: z.string(),
  role: RoleName,
  limits: z.object({ day: Limit, month: Limit }).nullable().meta({ description: "Null: no limits." }),
  created_at: Time,
  expires_at: Time,
};

export const InvitationView = z
  .object({ ...invitation, invited_by: z.string(), state: z.enum(["open", "accepted", "expired", "revoked"]) })
  .meta({ id: "Invitation" });

export const InvitationMade = z
  .object({
    ...invitation,
    link: z.string().meta({ description: "Shown only once and not stored." }),
    mailed: z.boolean(),
  })
  .meta({ id: "InvitationMade" });

export const InvitationRevoked = z.object({ id: z.string(), revoked: z.boolean() }).meta({ id: "InvitationRevoked" });

export const InvitationShown = z
  .object({
    workspace: z.object({ slug: z.string(), name: z.string() }),
    role: RoleName,
    email: z.string(),
    expires_at: Time,
    account_exists: z.boolean().meta({ description: "Sign in with this email address first, then accept." }),
  })
  .meta({ id: "InvitationShown" });

export const InvitationAccept = z
  .strictObject({
    name: Name.optional().meta({ description: "For a new account." }),
    password: Password.optional().meta({ description: "For a new account." }),
  })
  .meta({ id: "InvitationAccept" });

export const InvitationAccepted = z
  .object({ workspace: z.string(), role: RoleName })
  .meta({ id: "InvitationAccepted" });

export const SignUpBody = z.strictObject({ email: Email }).meta({ id: "SignUp" });
export const SignUpAsked = z.object({ asked: z.boolean() }).meta({ id: "SignUpAsked" });
export const SignUpStanding = z
  .object({ good: z.boolean(), email: z.string().nullable() })
  .meta({ id: "SignUpStanding" });
export const SignUpFinish = z
  .strictObject({ token: Token, name: Name, password: Password })
  .meta({ id: "SignUpFinish" });
export const SignUpDone = z.object({ email: z.string(), name: z.string() }).meta({ id: "SignUpDone" });

export const PersonView = z
  .object({
    id: z.string(),
    email: z.string(),
    name: z.string(),
    operator: z.boolean(),
    disabled: z.boolean(),
    erased: z.boolean(),
    two_factor: z.boolean(),
    passkeys: z.number(),
    created_at: Time,
    last_seen_at: Time.nullable(),
    workspaces: z.array(z.object({ slug: z.string(), role: RoleName })),
  })
  .meta({ id: "Person" });

export const PeopleQuery = PageQuery;
export const OperatorBody = z.strictObject({ operator: z.boolean() }).meta({ id: "OperatorChange" });
export const DisabledBody = z.strictObject({ disabled: z.boolean() }).meta({ id: "DisabledChange" });

/** What the library of sign-in takes and answers is its own; the guide on people names the fields. */
export const AuthBody = z.looseObject({}).meta({ id: "SignInStep" });
export const AuthAnswer = z.looseObject({}).meta({ id: "SignInAnswer" });
