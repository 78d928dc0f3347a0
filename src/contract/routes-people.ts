import type { z } from "zod";
import type { FaultCode } from "./faults.ts";
import { managed } from "./managed.ts";
import type { Route } from "./route.ts";
import { listOf } from "./schemas/manage-values.ts";
import * as people from "./schemas/people.ts";
import * as examples from "./schemas/people-examples.ts";

const BODY_MAX_BYTES = 64 * 1024;
const WORKSPACE = "/manage/workspaces/{workspace}";
const PERSON = "/manage/people/{id}";

type Said<Id, Path, Query, Body, Answer> = {
  readonly id: Id;
  readonly method: Route["method"];
  readonly path: Path;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly query?: Query;
  readonly body?: Body;
  readonly bodyOptional?: true;
  readonly answer: Answer;
  readonly status?: 200 | 201 | 202;
  readonly faults?: readonly FaultCode[];
  readonly example?: NonNullable<Route["example"]>;
};

/** For whoever has no session yet, or need not have one. */
function open<
  const Id extends string,
  const Path extends string,
  Answer extends z.ZodType,
  Query extends z.ZodObject | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(spoken: Said<Id, Path, Query, Body, Answer>) {
  const { id, path, query, body, answer, status = 200, faults = [], ...rest } = spoken;
  const route: Route = {
    ...rest,
    id,
    path,
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body, bodyMaxBytes: BODY_MAX_BYTES }),
    access: { by: "anyone" },
    intake: body === undefined ? "none" : "json",
    counted: false,
    answer: { is: "json", status, schema: answer },
    faults: [...faults, ...(spoken.method === "GET" ? [] : ["cross_site_request" as const])],
  };
  return { ...route, id, path, said: { query, body, answer } };
}

/** Signing in, and what somebody without a session may ask. */
export const SIGN_IN_ROUTES = [
  open({
    id: "peopleAuthRead",
    method: "GET",
    path: "/manage/auth/{rest+}",
    tag: "People",
    summary: "Read a step of signing in",
    description: "Passkey options, a device's code, the way back from single sign-on. The guide on people names each.",
    answer: people.AuthAnswer,
    faults: [
      "invalid_sign_in",
      "not_signed_in",
      "fresh_sign_in_needed",
      "not_allowed",
      "conflict",
      "service_unavailable",
      "cross_site_request",
    ],
    example: { answer: examples.authAnswer },
  }),
  open({
    id: "peopleAuthChange",
    method: "POST",
    path: "/manage/auth/{rest+}",
    tag: "People",
    summary: "Take a step of signing in",
    description: "Password, code, passkey, sign-out, device. The guide on people names each, with its fields.",
    body: people.AuthBody,
    answer: people.AuthAnswer,
    faults: [
      "invalid_sign_in",
      "not_signed_in",
      "fresh_sign_in_needed",
      "not_allowed",
      "conflict",
      "service_unavailable",
    ],
    example: { body: { email: "ada@example.eu", password: "…" }, answer: examples.authAnswer },
  }),
  open({
    id: "peopleSetupStanding",
    method: "GET",
    path: "/manage/setup",
    tag: "People",
    summary: "Say whether a set-up link is good",
    query: people.TokenQuery,
    answer: people.SetupStanding,
    faults: ["cross_site_request"],
    example: { answer: { good: true, needed: true } },
  }),
  open({
    id: "peopleSetup",
    method: "POST",
    path: "/manage/setup",
    tag: "People",
    summary: "Make the first person, who runs the gateway",
    description: "They are signed in at once. The link is good once.",
    body: people.SetupBody,
    answer: people.SetupDone,
    status: 201,
    faults: ["not_found", "conflict", "service_unavailable"],
    example: { body: examples.setup, answer: examples.setupDone },
  }),
  open({
    id: "peopleShowInvitation",
    method: "GET",
    path: "/manage/invitations/{token}",
    tag: "People",
    summary: "Show an invitation by its link",
    answer: people.InvitationShown,
    faults: ["cross_site_request"],
    example: { answer: examples.invitationShown },
  }),
  open({
    id: "peopleAcceptInvitation",
    method: "POST",
    path: "/manage/invitations/{token}/accept",
    tag: "People",
    summary: "Accept an invitation",
    description:
      "With a name and a password for a new account, which is signed in at once; else signed in with the address.",
    body: people.InvitationAccept,
    bodyOptional: true,
    answer: people.InvitationAccepted,
    faults: ["not_signed_in", "not_allowed", "conflict", "service_unavailable"],
    example: { body: examples.newAccount, answer: { workspace: "research", role: "member" } },
  }),
  open({
    id: "peopleSignUp",
    method: "POST",
    path: "/manage/sign-up",
    tag: "People",
    summary: "Ask for an account",
    description:
      "Where `GATEWAY_SIGNUP` is `open`. A link is mailed to the address; the answer is the same for every one.",
    body: people.SignUpBody,
    answer: people.SignUpAsked,
    status: 202,
    faults: ["not_allowed"],
    example: { body: { email: "ada@example.eu" }, answer: { asked: true } },
  }),
  open({
    id: "peopleSignUpStanding",
    method: "GET",
    path: "/manage/sign-up",
    tag: "People",
    summary: "Say whether the link of a sign-up is good",
    query: people.TokenQuery,
    answer: people.SignUpStanding,
    faults: ["not_allowed", "cross_site_request"],
    example: { answer: { good: true, email: "ada@example.eu" } },
  }),
  open({
    id: "peopleSignUpFinish",
    method: "POST",
    path: "/manage/sign-up/finish",
    tag: "People",
    summary: "Make an account by the link of a sign-up",
    description: "The person is signed in at once.",
    body: people.SignUpFinish,
    answer: people.SignUpDone,
    status: 201,
    faults: ["not_found", "not_allowed", "conflict", "service_unavailable"],
    example: { body: { token: "…", ...examples.newAccount }, answer: { email: "ada@example.eu", name: "Ada" } },
  }),
  open({
    id: "peopleMe",
    method: "GET",
    path: "/manage/me",
    tag: "People",
    summary: "Show who is signed in, and how one can sign in",
    answer: people.MeView,
    example: { answer: examples.me },
  }),
];

/** What somebody who has signed in does with their own account. */
const myRoutes = [
  managed({
    id: "peopleChangeMe",
    method: "PATCH",
    path: "/manage/me",
    allows: "person",
    tag: "People",
    summary: "Change one's own name",
    body: people.MeChange,
    answer: people.MeView,
    faults: ["not_allowed"],
    example: { body: { name: "Ada" }, answer: examples.me },
  }),
  managed({
    id: "peopleListSessions",
    method: "GET",
    path: "/manage/me/sessions",
    allows: "person",
    tag: "People",
    summary: "List one's own sessions",
    answer: listOf(people.SessionView),
    faults: ["not_allowed"],
    example: { answer: { data: [examples.session], next: null } },
  }),
  managed({
    id: "peopleEndOtherSessions",
    method: "DELETE",
    path: "/manage/me/sessions",
    allows: "person",
    tag: "People",
    summary: "End all of one's own sessions but this one",
    description:
      "Asks for a sign-in of the last 15 minutes where one of them, or a sign-in that is under way, began after this one.",
    answer: people.SessionsEnded,
    faults: ["not_allowed", "fresh_sign_in_needed"],
    example: { answer: { ended: 2 } },
  }),
  managed({
    id: "peopleEndSession",
    method: "DELETE",
    path: "/manage/me/sessions/{id}",
    allows: "person",
    tag: "People",
    summary: "End one of one's own sessions",
    description: "Asks for a sign-in of the last 15 minutes where it began after the one that asks.",
    answer: people.SessionEnded,
    faults: ["not_allowed", "fresh_sign_in_needed"],
    example: { answer: { id: examples.session.id, ended: true } },
  }),
  managed({
    id: "peopleListPasskeys",
    method: "GET",
    path: "/manage/me/passkeys",
    allows: "person",
    tag: "People",
    summary: "List one's own passkeys",
    answer: listOf(people.PasskeyView),
    faults: ["not_allowed"],
    example: { answer: { data: [examples.passkey], next: null } },
  }),
];

const invitationRoutes = [
  managed({
    id: "peopleListInvitations",
    method: "GET",
    path: `${WORKSPACE}/invitations`,
    allows: "admin",
    tag: "Members",
    summary: "List invitations",
    answer: listOf(people.InvitationView),
    example: { answer: { data: [examples.invitation], next: null } },
  }),
  managed({
    id: "peopleInvite",
    method: "POST",
    path: `${WORKSPACE}/invitations`,
    allows: "admin",
    tag: "Members",
    summary: "Invite someone",
    description:
      "The link is answered this once, and mailed where mail is set up. It is good once, for 7 days; an earlier one for the address is not good any more.",
    body: people.InvitationBody,
    answer: people.InvitationMade,
    status: 201,
    faults: ["conflict", "fresh_sign_in_needed"],
    example: { body: { email: "ada@example.eu", role: "member" }, answer: examples.invitationMade },
  }),
  managed({
    id: "peopleRevokeInvitation",
    method: "DELETE",
    path: `${WORKSPACE}/invitations/{id}`,
    allows: "admin",
    tag: "Members",
    summary: "Take an invitation back",
    answer: people.InvitationRevoked,
    faults: ["conflict"],
    example: { answer: { id: examples.invitation.id, revoked: true } },
  }),
  managed({
    id: "peopleResetMember",
    method: "POST",
    path: `${WORKSPACE}/members/{email}/reset-link`,
    allows: "admin",
    tag: "Members",
    summary: "Make a link with which a member sets a new password",
    description:
      "Only of someone who has accepted an invitation here and belongs to no other workspace; of others the operator makes it, and nobody for themselves.",
    answer: people.LinkMade,
    status: 201,
    faults: ["not_allowed", "fresh_sign_in_needed"],
    example: { answer: examples.resetLink },
  }),
];

const operatorRoutes = [
  managed({
    id: "peopleList",
    method: "GET",
    path: "/manage/people",
    allows: "operator",
    tag: "People",
    summary: "List people",
    query: people.PeopleQuery,
    answer: listOf(people.PersonView),
    example: { answer: { data: [examples.person], next: null } },
  }),
  managed({
    id: "peopleSetOperator",
    method: "POST",
    path: `${PERSON}/operator`,
    allows: "operator",
    tag: "People",
    summary: "Make someone operator, or not any more",
    description:
      "Whoever is none any more loses the management tokens that they made in workspaces of which they are no owner.",
    body: people.OperatorBody,
    answer: people.PersonView,
    faults: ["conflict", "fresh_sign_in_needed"],
    example: { body: { operator: true }, answer: examples.person },
  }),
  managed({
    id: "peopleSetDisabled",
    method: "POST",
    path: `${PERSON}/disable`,
    allows: "operator",
    tag: "People",
    summary: "Disable an account, or enable it again",
    description:
      "Sessions of a disabled account end at once, and the management tokens that it made are removed in all workspaces. Memberships and keys stay as they are.",
    body: people.DisabledBody,
    answer: people.PersonView,
    faults: ["conflict", "fresh_sign_in_needed"],
    example: { body: { disabled: true }, answer: { ...examples.person, disabled: true } },
  }),
  managed({
    id: "peopleErase",
    method: "POST",
    path: `${PERSON}/erase`,
    allows: "operator",
    tag: "People",
    summary: "Erase a person, for good",
    description:
      "Ends everything they sign in with, their memberships with personal keys, and the management tokens that they made; name and address leave the account, links, nodes and provider keys. The account stays as an id, disabled. Ledger, audit log and request log stay as they are. Not oneself, not the only operator, and not the only owner of a workspace that has other members. It can be asked for again where it broke off.",
    answer: people.PersonView,
    faults: ["conflict", "not_allowed", "fresh_sign_in_needed"],
    example: { answer: examples.erased },
  }),
  managed({
    id: "peopleEndAllSessions",
    method: "DELETE",
    path: `${PERSON}/sessions`,
    allows: "operator",
    tag: "People",
    summary: "End all sessions of a person",
    description: "Of oneself it asks for a sign-in of the last 15 minutes.",
    answer: people.SessionsEnded,
    faults: ["fresh_sign_in_needed"],
    example: { answer: { ended: 2 } },
  }),
  managed({
    id: "peopleDropSecondFactor",
    method: "DELETE",
    path: `${PERSON}/second-factor`,
    allows: "operator",
    tag: "People",
    summary: "Take the second factor off someone who lost it",
    description: "Not off oneself: that is done in the account, or with the operator token.",
    answer: people.PersonView,
    faults: ["conflict", "not_allowed", "fresh_sign_in_needed"],
    example: { answer: examples.person },
  }),
  managed({
    id: "peopleReset",
    method: "POST",
    path: `${PERSON}/reset-link`,
    allows: "operator",
    tag: "People",
    summary: "Make a link with which a person sets a new password",
    description: "Not for oneself: that is done in the account, or with the operator token.",
    answer: people.LinkMade,
    status: 201,
    faults: ["conflict", "not_allowed", "fresh_sign_in_needed"],
    example: { answer: examples.resetLink },
  }),
  managed({
    id: "peopleMakeSetupLink",
    method: "POST",
    path: "/manage/setup-link",
    allows: "operator",
    tag: "People",
    summary: "Make a new set-up link",
    description: "While there is no operator yet. The one from before is not good any more.",
    answer: people.LinkMade,
    status: 201,
    faults: ["conflict"],
    example: { answer: examples.setupLink },
  }),
];

/** For people with a session, behind the guard like all of the management API. */
export const PEOPLE_ROUTES = [...myRoutes, ...invitationRoutes, ...operatorRoutes];
