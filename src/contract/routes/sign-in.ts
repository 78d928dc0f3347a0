import type { z } from "zod";
import type { FaultCode } from "../faults.ts";
import type { Route } from "../route.ts";
import * as people from "../schemas/people.ts";
import * as examples from "../schemas/people-examples.ts";

const BODY_MAX_BYTES = 64 * 1024;

type PublicRouteSpec<Id, Path, Query, Body, Answer> = {
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

/** Routes that need no session. */
function open<
  const Id extends string,
  const Path extends string,
  Answer extends z.ZodType,
  Query extends z.ZodObject | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(spec: PublicRouteSpec<Id, Path, Query, Body, Answer>) {
  const { id, path, query, body, answer, status = 200, faults = [], ...rest } = spec;
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
    faults: [...faults, ...(spec.method === "GET" ? [] : ["cross_site_request" as const])],
  };
  return { ...route, id, path, schemas: { query, body, answer } };
}

/** Sign-in, and everything else that works without a session. */
export const SIGN_IN_ROUTES = [
  open({
    id: "peopleAuthRead",
    method: "GET",
    path: "/manage/auth/{rest+}",
    tag: "People",
    summary: "Read a sign-in step",
    description: "Passkey options, device codes, the single sign-on callback. The guide on people describes each.",
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
    summary: "Perform a sign-in step",
    description: "Password, code, passkey, sign-out, device. The guide on people describes each, with its fields.",
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
    summary: "Check a set-up link",
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
    summary: "Create the operator account",
    description: "The user is signed in immediately. The link can be used once.",
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
    summary: "Show an invitation",
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
      "With a name and a password for a new account, which is signed in immediately; otherwise sign in with the email address first.",
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
    summary: "Sign up",
    description:
      "Requires `GATEWAY_SIGNUP` to be `open`. A link is sent to the email address; the response is the same for every address.",
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
    summary: "Check a sign-up link",
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
    summary: "Create an account with a sign-up link",
    description: "The user is signed in immediately.",
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
    summary: "Show the signed-in user and the available sign-in methods",
    answer: people.MeView,
    example: { answer: examples.me },
  }),
];
