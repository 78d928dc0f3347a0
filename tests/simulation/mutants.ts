/** One place in the code, and its replacement. The text must occur once. */
export type Patch = { readonly file: string; readonly find: string; readonly put: string };

/** A deliberate fault: the simulation has to detect it. */
export type Mutant = {
  readonly name: string;
  /** The requirements it breaks. */
  readonly breaks: string;
  readonly patches: readonly Patch[];
};

export const one = (name: string, breaks: string, file: string, find: string, put: string): Mutant => ({
  name,
  breaks,
  patches: [{ file, find, put }],
});

const RULES = "src/domain/routing/policy.ts";
const TIGHTENED = "src/domain/tenancy/policy.ts";
const DIRECTORY = "src/domain/tenancy/directory.ts";
const CANDIDATES = "src/domain/routing/filter.ts";
const REFUSAL = "src/domain/routing/plan-refusal.ts";
const PREFERENCES = "src/domain/routing/preferences.ts";
const PLAN = "src/app/pipeline/plan.ts";
const ATTEMPT = "src/app/pipeline/attempt.ts";
const TRIES = "src/app/pipeline/tries.ts";
const RUN = "src/app/pipeline/run.ts";
const ADMITTED = "src/app/pipeline/admitted-request.ts";
const RELAY = "src/app/pipeline/relay.ts";
const SETTLE = "src/app/pipeline/settle.ts";
const BUDGET = "src/domain/admission/retry-budget.ts";
const CLASSIFY = "src/io/upstream/classify.ts";

/** The filter itself: one rule is misread. */
const FILTER: readonly Mutant[] = [
  one("floor-one-rung-low", "POL-01", RULES, "levelRank(sovereignty.level) <", "levelRank(sovereignty.level) + 1 <"),
  one("floor-must-be-exceeded", "POL-01", RULES, "levelRank(sovereignty.level) <", "levelRank(sovereignty.level) <="),
  one("unclassified-is-l0", "POL-01", TIGHTENED, 'level === "UNCLASSIFIED" ? -1', 'level === "UNCLASSIFIED" ? 0'),
  one("floor-ignored", "POL-01", RULES, "if (policy.floor !== null &&", "if (false &&"),
  one(
    "some-country-is-enough",
    "POL-02",
    RULES,
    "if (allowed.includes(country)) continue;",
    "if (sovereignty.countries.some((any) => allowed.includes(any))) continue;",
  ),
  one("unknown-countries-allowed", "POL-02", RULES, 'sovereignty.countriesKind === "unknown" || ', ""),
  one("no-countries-allowed", "POL-02", RULES, " || sovereignty.countries.length === 0", ""),
  one(
    "retention-on-request-accepted",
    "POL-02",
    RULES,
    'sovereignty.zeroDataRetention !== "yes"',
    '!["yes", "on_request"].includes(sovereignty.zeroDataRetention)',
  ),
  one(
    "unknown-retention-accepted",
    "POL-02",
    RULES,
    'sovereignty.zeroDataRetention !== "yes"',
    'sovereignty.zeroDataRetention === "no"',
  ),
  one(
    "unknown-training-accepted",
    "POL-02",
    RULES,
    'sovereignty.trainsOnData !== "no"',
    'sovereignty.trainsOnData === "yes"',
  ),
  one("blocked-providers-ignored", "POL-02", RULES, "policy.blockedProviders.includes(endpoint.provider)", "false"),
  one(
    "unknown-quality-passes",
    "ROUTE-09",
    CANDIDATES,
    "(model.quality === null || model.quality.score",
    "(model.quality !== null && model.quality.score",
  ),
];

/** Layers: one of them loosens another, or is forgotten. */
const LAYERS: readonly Mutant[] = [
  one(
    "floor-replaced",
    "POL-01",
    TIGHTENED,
    "stricter(policy.floor, more.floor ?? null)",
    "more.floor ?? policy.floor",
  ),
  one("lists-united", "POL-02", TIGHTENED, "one.filter((name) => allowed.has(name))", "[...one, ...(other ?? [])]"),
  one(
    "nothing-in-common-allows-all",
    "POL-02",
    TIGHTENED,
    "one.filter((name) => allowed.has(name));",
    "one.some((name) => allowed.has(name)) ? one.filter((name) => allowed.has(name)) : null;",
  ),
  one("demand-dropped", "POL-02", TIGHTENED, "policy.zeroDataRetention || more.", "policy.zeroDataRetention && more."),
  one("training-demand-dropped", "POL-02", TIGHTENED, "policy.noTraining || more.", "policy.noTraining && more."),
  one(
    "blocked-list-replaced",
    "POL-02",
    TIGHTENED,
    "either(policy.blockedProviders, more.blockedProviders ?? [])",
    "more.blockedProviders ?? policy.blockedProviders",
  ),
  one(
    "allowed-models-replaced",
    "POL-02",
    TIGHTENED,
    "both(policy.allowedModels, more.allowedModels ?? null)",
    "more.allowedModels ?? policy.allowedModels",
  ),
  one(
    "key-policy-ignored",
    "POL-02",
    DIRECTORY,
    "return tightened(workspace.policy, this.#keys.get(keyId)?.policy);",
    "return workspace.policy;",
  ),
  one(
    "router-rules-ignored",
    "POL-01",
    PLAN,
    "router === undefined ? own : tightened(own, policyOfRouter(router.spec))",
    "own",
  ),
  one(
    "router-replaces-policy",
    "POL-01",
    PLAN,
    "tightened(own, policyOfRouter(router.spec))",
    "{ ...own, ...policyOfRouter(router.spec) }",
  ),
  one(
    "request-demands-ignored",
    "POL-02",
    PLAN,
    "wishes === undefined ? routed : tightened(routed, policyOfWishes(wishes))",
    "routed",
  ),
  one("ignore-ignored", "ROUTE-01", PREFERENCES, "ignore !== undefined && indexInList(ignore, endpoint) >= 0", "false"),
  one("only-ignored", "ROUTE-01", PREFERENCES, "only !== undefined && indexInList(only, endpoint) < 0", "false"),
  one("fallbacks-in-spite", "ROUTE-01", "src/domain/routing/plan.ts", "if (isFirstOnly) break;", ""),
  one("price-ceiling-ignored", "ROUTE-01", PREFERENCES, "if (input > ceilings.input)", "if (false)"),
  {
    name: "models-checked-for-plain-ids-only",
    breaks: "POL-02",
    patches: [
      { file: CANDIDATES, find: "if (permitsModel(model.id, request.policy))", put: "if (true)" },
      { file: REFUSAL, find: "if (permitsModel(endpoint.model, policy)) return undefined;", put: "return undefined;" },
    ],
  },
  {
    name: "fallbacks-need-no-leave",
    breaks: "POL-02",
    patches: [
      {
        file: CANDIDATES,
        find: "!permitsModel(modelId, request.policy)",
        put: 'request.route.is === "model" && !permitsModel(modelId, request.policy)',
      },
      { file: REFUSAL, find: "if (permitsModel(endpoint.model, policy)) return undefined;", put: "return undefined;" },
    ],
  },
  one(
    "router-of-others-by-name",
    "ROUTE-01",
    "src/domain/routing/routing-target.ts",
    "workspace === workspaceSlug && slug",
    "slug",
  ),
  one(
    "routers-shared",
    "ROUTE-01",
    DIRECTORY,
    "return this.#routers.get(workspaceId)?.get(slug);",
    "return [...this.#routers.values()].map((own) => own.get(slug)).find((found) => found !== undefined);",
  ),
  one("sessions-shared", "ROUTE-06", "src/domain/routing/session-affinity.ts", "{workspaceId} ${", "{"),
];

const KEYS: readonly Mutant[] = [
  {
    // Each of the three checks compensates for the other two except for a moment: a mutant has to disable all of them.
    name: "revoked-key-goes-on",
    breaks: "KEY-04",
    patches: [
      { file: RUN, find: "gateway.recheck(exchange);\n    let planned", put: "let planned" },
      { file: RUN, find: 'place = "taken";\n      gateway.recheck(exchange);', put: 'place = "taken";' },
      { file: ATTEMPT, find: "\n  recheck();", put: "" },
    ],
  },
];

/** Time: what held when the request was planned is assumed to hold still. */
const IN_FLIGHT: readonly Mutant[] = [
  one("checked-at-planning-only", "POL-02", ATTEMPT, "plan.refusedNow(row, policy)", "undefined"),
  {
    name: "checked-on-the-first-attempt-only",
    breaks: "POL-02",
    patches: [
      { file: ATTEMPT, find: "const NO_LANE", put: "const seen = new WeakSet(); const NO_LANE" },
      {
        file: ATTEMPT,
        find: "plan.refusedNow(row, policy)",
        put: "seen.has(trail) ? undefined : plan.refusedNow(row, policy); seen.add(trail)",
      },
    ],
  },
  one(
    "blocked-list-not-checked-again",
    "POL-02",
    ATTEMPT,
    "plan.refusedNow(row, policy)",
    "plan.refusedNow(row, { ...policy, blockedProviders: [] })",
  ),
  one(
    "models-not-checked-again",
    "POL-02",
    REFUSAL,
    "if (permitsModel(endpoint.model, policy)) return undefined;",
    "return undefined;",
  ),
  one(
    "policy-of-the-plan",
    "POL-02",
    PLAN,
    "const policyNow = () => policyInForce(planning, asked, route);",
    "const fixed = policyInForce(planning, asked, route); const policyNow = () => fixed;",
  ),
  one(
    "checked-before-the-credential",
    "POL-02",
    ATTEMPT,
    "return after(headersFor(one, body), (headers) => dispatch(one, body, headers, leash));",
    "const early = one.policyNow(); return after(headersFor(one, body), (headers) => dispatch({ ...one, policyNow: () => early }, body, headers, leash));",
  ),
  one("router-of-the-plan", "POL-01", PLAN, "now === undefined ? policy", "true ? policy"),
  one("catalogue-of-the-plan", "POL-02", ATTEMPT, "const row = rowNow(gateway, attempt);", "const row = endpoint;"),
  one("retired-is-asked", "POL-02", ATTEMPT, 'row.status === "retired" || ', ""),
  one(
    "disconnected-is-asked",
    "POL-02",
    ATTEMPT,
    " || connections?.credential(row.provider) === undefined",
    " || connections === undefined",
  ),
  one(
    "moved-is-asked",
    "POL-02",
    ATTEMPT,
    "return connections.baseUrl(row) === attempt.baseUrl ? row : undefined;",
    "return row;",
  ),
];

const MONEY: readonly Mutant[] = [
  one(
    "nothing-held",
    "BILL-03",
    "src/app/pipeline/admit.ts",
    "after(gateway.state.hold(hold),",
    'after({ is: "held" },',
  ),
  one(
    "held-for-the-cheapest",
    "BILL-03",
    "src/app/pipeline/admit.ts",
    "if (needed > nanos) nanos = needed;",
    "if (nanos === 0n || needed < nanos) nanos = needed;",
  ),
  one(
    "held-twice-over",
    "BILL-03",
    "src/io/state/memory-state.ts",
    "if (availableNanos < nanos)",
    "if (wallet.balanceNanos < nanos)",
  ),
  one(
    "hold-kept-after-settling",
    "BILL-03",
    "src/io/state/memory-state.ts",
    "    if (hold === undefined) return;\n    this.#holds.delete(requestId);",
    "    if (hold === undefined) return;",
  ),
  one(
    "hold-kept-after-refusal",
    "BILL-03",
    SETTLE,
    "  await gateway.state.settle(trail.hold, 0n);\n  gateway.finished(record);",
    "  gateway.finished(record);",
  ),
  one(
    "settled-twice",
    "BILL-02",
    SETTLE,
    "const settled = gateway.state.settle(trail.hold, isOwn ? 0n : charge.nanos);",
    "await gateway.state.settle(trail.hold, charge.nanos); const settled = gateway.state.settle(trail.hold, charge.nanos);",
  ),
  one(
    "answered-before-the-journal",
    "BILL-07",
    SETTLE,
    'await gateway.journal.append({ t: "done", record });',
    'void gateway.journal.append({ t: "done", record }).catch(() => undefined);',
  ),
  one(
    "recorded-twice",
    "BILL-02",
    ADMITTED,
    "const body = answer.render(usage, shown);",
    "await settleFree(this.#gateway, this.#trail, gone(this.#trail)); const body = answer.render(usage, shown);",
  ),
  one(
    "broken-streams-are-charged",
    "BILL-02",
    ADMITTED,
    "return this.#breakStream(outcome.stream, toldOf(outcome.verdict));",
    'return this.#closeStream(attempt, { ...outcome, is: "relayed" });',
  ),
  one(
    "unseen-output-is-charged",
    "BILL-02",
    ADMITTED,
    "stream === undefined || !this.#relay.spoke",
    "stream === undefined",
  ),
  {
    name: "output-after-hanging-up-is-charged",
    breaks: "BILL-02",
    patches: [
      { file: RELAY, find: "nobody's output.\n      if (this.gone) return true;", put: "nobody's output." },
      { file: RELAY, find: "finish(this.#committed ?", put: "finish(true ?" },
      { file: RELAY, find: "if (!this.gone) this.#speak()", put: "this.#speak()" },
    ],
  },
  one("lies-are-believed", "BILL-02", SETTLE, " && !isBeyondReason(told, context, end)", ""),
  one(
    "estimates-beyond-the-hold",
    "BILL-03",
    SETTLE,
    "usage.estimated ? bounded(charge, trail.heldNanos) : charge",
    "charge",
  ),
];

const RETRIES: readonly Mutant[] = [
  one("retry-after-content", "ROUTE-04", RELAY, "else if (this.#committed) finish(", "else if (false) finish("),
  {
    name: "budget-ignored",
    breaks: "ROUTE-04",
    patches: [
      {
        file: BUDGET,
        find: "if (this.#retries >= Math.max(this.#minimum, Math.floor(this.#active * this.#share)))",
        put: "if (false)",
      },
      { file: BUDGET, find: "if (this.#retries >= this.#minimum && this.#credit < 1)", put: "if (false)" },
    ],
  },
  one("budget-never-given-back", "ROUTE-04", TRIES, "if (isFurther) budget.give();", ""),
  one(
    "accepted-and-asked-again",
    "ROUTE-04",
    CLASSIFY,
    'failure.sent || failure.kind === "aborted" ? undefined : CONNECT_AGAIN_MS',
    "CONNECT_AGAIN_MS",
  ),
  one("asked-again-and-again", "ROUTE-04", TRIES, ' || this.#repeated === "yes"', ""),
  one("attempts-without-end", "ROUTE-04", TRIES, "this.#asked < limits.attemptsMax +", "this.#asked < 99 +"),
  one("refusals-move-on", "ERR-06", CLASSIFY, "if (CALLERS_FAULT.has(status) &&", "if (false &&"),
  one("no-deadline", "ROUTE-04", ADMITTED, "() => tries.expire()", "() => undefined"),
  one("asked-for-someone-who-left", "CHAT-09", RELAY, "if (this.gone) cancel();", ""),
  one(
    "nobody-is-set-aside",
    "ROUTE-05",
    "src/domain/routing/circuit-breakers.ts",
    "local.openUntilMonotonicMs = nowMs + Math.min(local.openCount * openMs, openMsMax);",
    "",
  ),
  {
    name: "aside-and-still-first",
    breaks: "ROUTE-05",
    patches: [
      {
        file: "src/domain/routing/rank.ts",
        find: "OPEN_CIRCUIT_TIER + (tiers[index] ?? 0)",
        put: "(tiers[index] ?? 0)",
      },
      { file: TRIES, find: "if (!isAside(attempt)) return false;", put: "return false;" },
    ],
  },
  one(
    "aside-means-out",
    "ROUTE-05",
    "src/domain/routing/rank.ts",
    "const choices = bestWithOwnResources(0, poolCount, order);",
    'const choices = bestWithOwnResources(0, poolCount, order).filter((index) => circuitStates?.get(index) !== "open");',
  ),
  one(
    "queue-ignored",
    "RATE-06",
    RUN,
    'if (gateway.queue.enter() === "wait")',
    'if (gateway.queue.enter() === "never")',
  ),
  one("queue-place-lost", "RATE-06", RUN, 'if (place === "taken") gateway.queue.leave();', ""),
  one(
    "queue-without-end",
    "RATE-06",
    "src/domain/admission/admission-queue.ts",
    "if (this.#queued >= this.#limits.queuedMax && !this.#evictForFairness(workspaceId))",
    "if (false)",
  ),
  one(
    "endpoint-place-ignored",
    "ROUTE-04",
    "src/domain/admission/concurrency-limiter.ts",
    'if (inUse + 1 > limit) return "full";',
    "",
  ),
  one(
    "endpoint-place-lost",
    "ROUTE-04",
    TRIES,
    "} finally {\n        places?.give(attempt.endpoint.id);",
    "} finally {",
  ),
  one(
    "real-time",
    "ROUTE-04",
    TRIES,
    "return gateway.clock.monotonicMs() + waitMs <",
    "return performance.now() + waitMs <",
  ),
  one("real-randomness", "ROUTE-04", TRIES, "gateway.random()", "Math.random()"),
];

export const MUTANTS: readonly Mutant[] = [...FILTER, ...LAYERS, ...KEYS, ...IN_FLIGHT, ...MONEY, ...RETRIES];
