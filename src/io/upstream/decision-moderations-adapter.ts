import type { Model } from "../../domain/catalogue/catalogue.ts";
import type { ModerationSupport } from "../../domain/catalogue/moderations-support.ts";
import type { UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import { sumTokens } from "../../language/canon/usage.ts";
import { assignQuestionIds, type DecisionCall } from "../../language/decisions/call.ts";
import type { DecisionRenderer } from "../../language/decisions/render.ts";
import type { DecisionAnswers } from "../../language/decisions/validate.ts";
import {
  type ModerationCall,
  type ModerationResult,
  type ModerationSubject,
  subjectImages,
  subjectText,
} from "../../language/moderations/call.ts";
import { DEFAULT_CATEGORIES } from "../../language/moderations/categories.ts";
import { decisionsAdapter } from "./decisions-adapter.ts";
import { appliedTo, type ModerationTarget, moderationReply } from "./moderations-adapter.ts";
import type { UpstreamAdapter } from "./upstream-adapter.ts";

/** One decision for each subject, with a yes-or-no question for each category. */
export function decisionCallsFor(call: ModerationCall, { categories }: ModerationSupport): DecisionCall[] {
  const entries = Object.entries(categories ?? DEFAULT_CATEGORIES);
  const ids = assignQuestionIds(entries.map(([name]) => name));
  const questions = entries.map(([key, instructions], index) => ({
    key,
    id: ids[index] ?? key,
    instructions,
    path: "input",
    type: "noul" as const,
  }));
  return call.subjects.map((subject) => ({
    model: call.model,
    state: subjectText(subject),
    questions,
    images: subjectImages(subject),
    inputField: "input",
  }));
}

/** A refusal to judge is an error: it must not read as harmless. */
const UNRENDERED: DecisionRenderer = {
  refusals: "fault",
  render() {
    throw new Error("a moderation is rendered as a whole");
  },
};

export function decisionModerationsAdapter(target: ModerationTarget, model: Model): UpstreamAdapter {
  const { call, endpoint, support } = target;
  const answers: (DecisionAnswers | undefined)[] = [];
  const decisions = decisionCallsFor(call, support).map((ask, at) =>
    decisionsAdapter(ask, {
      endpoint,
      model,
      client: UNRENDERED,
      onAnswers(given) {
        answers[at] = given;
      },
    }),
  );
  const parts = decisions.map((adapter) => adapter.subRequests?.adapters ?? [adapter]);
  const adapters = parts.flat();
  const [first] = adapters;
  if (first === undefined) throw new Error("a request for no verdict");
  return {
    ...first,
    subRequests: {
      adapters,
      join(replies) {
        const verdicts = joinDecisions(decisions, parts, replies);
        return "unusable" in verdicts ? verdicts : joinVerdicts(verdicts.replies, answers, target);
      },
    },
  };
}

/** The reply to each decision, which itself may be in parts. */
function joinDecisions(
  decisions: readonly UpstreamAdapter[],
  parts: readonly (readonly UpstreamAdapter[])[],
  replies: readonly WholeReply[],
): { readonly replies: readonly WholeReply[] } | UnusableReply {
  const joined: WholeReply[] = [];
  let from = 0;
  for (const [at, decision] of decisions.entries()) {
    const own = replies.slice(from, from + (parts[at]?.length ?? 0));
    from += own.length;
    const reply = decision.subRequests === undefined ? own[0] : decision.subRequests.join(own);
    if (reply === undefined) return { unusable: "a verdict is missing" };
    if ("unusable" in reply) return reply;
    joined.push(reply);
  }
  return { replies: joined };
}

function joinVerdicts(
  replies: readonly WholeReply[],
  answers: readonly (DecisionAnswers | undefined)[],
  { call, endpoint, support, id }: ModerationTarget,
): WholeReply | UnusableReply {
  const declined = replies.find((reply) => reply.declined !== undefined)?.declined;
  const results = call.subjects.map((subject, at) => resultOf(answers[at], subject, support));
  const known = results.filter((result) => result !== undefined);
  if (declined === undefined && known.length !== results.length) return { unusable: "a verdict is missing" };
  const count = (name: "promptCount" | "promptReads") => replies.reduce((sum, reply) => sum + (reply[name] ?? 1), 0);
  return moderationReply(known, {
    usage: sumTokens(replies.flatMap(({ usage }) => usage ?? [])),
    declined,
    upstreamId: replies[0]?.upstreamId ?? null,
    omitted: undefined,
    promptCount: count("promptCount"),
    promptReads: count("promptReads"),
    head: { id, model: endpoint.model },
  });
}

function resultOf(
  answers: DecisionAnswers | undefined,
  { parts }: ModerationSubject,
  { threshold }: ModerationSupport,
): ModerationResult | undefined {
  if (answers === undefined) return undefined;
  const scores = new Map<string, number>();
  for (const [category, answer] of answers) {
    if (answer.type !== "noul") return undefined;
    scores.set(category, answer.noul);
  }
  const categories = new Map([...scores].map(([category, score]) => [category, score >= threshold]));
  const types = [...new Set(parts.map(({ type }) => type))];
  return appliedTo({ isFlagged: [...categories.values()].includes(true), categories, scores }, types);
}
