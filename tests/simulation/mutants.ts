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

const POLICY = "src/domain/routing/policy.ts";
const TIGHTEN = "src/domain/tenancy/policy.ts";
const DIRECTORY = "src/domain/tenancy/directory-reader.ts";
const FILTER_FILE = "src/domain/routing/filter.ts";
const ROUTER_FILTER = "src/domain/routing/router-filter.ts";
const ROUTER_RULES = "src/domain/routing/router-rules.ts";
const ATTEMPT_PLAN = "src/domain/routing/plan.ts";
const PLAN_REFUSAL = "src/domain/routing/plan-refusal.ts";
const RESOLVE_TARGET = "src/domain/routing/resolve-target.ts";
/** Takes the model allowlist out of the check right before an attempt. */
const NO_MODEL_RECHECK = [
  { file: ATTEMPT_PLAN, find: "permitsModel(endpoint.model, policy) && ", put: "" },
  { file: PLAN_REFUSAL, find: "if (permitsModel(endpoint.model, policy)) return undefined;", put: "return undefined;" },
];
const PREFERENCES = "src/domain/routing/preferences.ts";
const PLAN = "src/app/pipeline/plan.ts";
const ATTEMPT = "src/app/pipeline/attempt.ts";
const RETRY_LOOP = "src/app/pipeline/retry-loop.ts";
const FAILURE_HANDLING = "src/app/pipeline/failure-handling.ts";
const RUN = "src/app/pipeline/run.ts";
const RELAY = "src/app/pipeline/relay.ts";
const STREAM_RELAY = "src/app/pipeline/relay-stream.ts";
const SETTLE = "src/app/pipeline/settle.ts";
const SETTLE_STREAM = "src/app/pipeline/settle-stream.ts";
const OVERLOAD = "src/domain/admission/overload-protection.ts";
const CLASSIFY = "src/io/upstream/classify-failure.ts";
const WALLETS = "src/io/state/memory-wallets.ts";

/** The filter itself: one rule is misread. */
const FILTER: readonly Mutant[] = [
  one("floor-one-rung-low", "POL-01", POLICY, "levelRank(sovereignty.level) <", "levelRank(sovereignty.level) + 1 <"),
  one("floor-must-be-exceeded", "POL-01", POLICY, "levelRank(sovereignty.level) <", "levelRank(sovereignty.level) <="),
  one("unclassified-is-l0", "POL-01", TIGHTEN, 'level === "UNCLASSIFIED" ? -1', 'level === "UNCLASSIFIED" ? 0'),
  one("floor-ignored", "POL-01", POLICY, "if (floor !== null &&", "if (false &&"),
  one(
    "some-country-is-enough",
    "POL-02",
    POLICY,
    "if (allowed.includes(country)) continue;",
    "if (sovereignty.countries.some((any) => allowed.includes(any))) continue;",
  ),
  one("unknown-countries-allowed", "POL-02", POLICY, 'sovereignty.countriesKind === "unknown" || ', ""),
  one("no-countries-allowed", "POL-02", POLICY, " || sovereignty.countries.length === 0", ""),
  one(
    "retention-on-request-accepted",
    "POL-02",
    POLICY,
    'sovereignty.zeroDataRetention !== "yes"',
    '!["yes", "on_request"].includes(sovereignty.zeroDataRetention)',
  ),
  one(
    "unknown-retention-accepted",
    "POL-02",
    POLICY,
    'sovereignty.zeroDataRetention !== "yes"',
    'sovereignty.zeroDataRetention === "no"',
  ),
  one(
    "unknown-training-accepted",
    "POL-02",
    POLICY,
    'sovereignty.trainsOnData !== "no"',
    'sovereignty.trainsOnData === "yes"',
  ),
  one("blocked-providers-ignored", "POL-02", POLICY, "policy.blockedProviders.includes(endpoint.provider)", "false"),
  one(
    "unknown-quality-passes",
    "ROUTE-09",
    ROUTER_RULES,
    "(model.quality === null || model.quality.score",
    "(model.quality !== null && model.quality.score",
  ),
];

/** Layers: one of them loosens another, or is forgotten. */
const LAYERS: readonly Mutant[] = [
  one(
    "floor-replaced",
    "POL-01",
    TIGHTEN,
    "stricterFloor(policy.floor, more.floor ?? null)",
    "more.floor ?? policy.floor",
  ),
  one("lists-united", "POL-02", TIGHTEN, "one.filter((name) => allowed.has(name))", "[...one, ...(other ?? [])]"),
  one(
    "nothing-in-common-allows-all",
    "POL-02",
    TIGHTEN,
    "one.filter((name) => allowed.has(name));",
    "one.some((name) => allowed.has(name)) ? one.filter((name) => allowed.has(name)) : null;",
  ),
  one("demand-dropped", "POL-02", TIGHTEN, "policy.zeroDataRetention || more.", "policy.zeroDataRetention && more."),
  one("training-demand-dropped", "POL-02", TIGHTEN, "policy.noTraining || more.", "policy.noTraining && more."),
  one(
    "blocked-list-replaced",
    "POL-02",
    TIGHTEN,
    "union(policy.blockedProviders, more.blockedProviders ?? [])",
    "more.blockedProviders ?? policy.blockedProviders",
  ),
  one(
    "allowed-models-replaced",
    "POL-02",
    TIGHTEN,
    "intersect(policy.allowedModels, more.allowedModels ?? null)",
    "more.allowedModels ?? policy.allowedModels",
  ),
  one(
    "key-policy-ignored",
    "POL-02",
    DIRECTORY,
    "return isUnchanged ? workspace.policy : policyOfKey(workspace.policy, key);",
    "return workspace.policy;",
  ),
  one(
    "router-rules-ignored",
    "POL-01",
    PLAN,
    "router === undefined ? own : tightenPolicy(own, policyOfRouter(router.spec))",
    "own",
  ),
  one(
    "router-replaces-policy",
    "POL-01",
    PLAN,
    "tightenPolicy(own, policyOfRouter(router.spec))",
    "{ ...own, ...policyOfRouter(router.spec) }",
  ),
  one(
    "request-demands-ignored",
    "POL-02",
    PLAN,
    "hints === undefined ? routed : tightenPolicy(routed, policyFromHints(hints))",
    "routed",
  ),
  one("ignore-ignored", "ROUTE-01", PREFERENCES, "ignore !== undefined && indexInList(ignore, endpoint) >= 0", "false"),
  one("only-ignored", "ROUTE-01", PREFERENCES, "only !== undefined && indexInList(only, endpoint) < 0", "false"),
  one("fallbacks-although-forbidden", "ROUTE-01", ATTEMPT_PLAN, "if (isFirstOnly) break;", ""),
  one("price-ceiling-ignored", "ROUTE-01", PREFERENCES, "if (input > ceilings.input)", "if (false)"),
  {
    name: "models-checked-for-plain-ids-only",
    breaks: "POL-02",
    patches: [
      { file: ROUTER_FILTER, find: "if (permitsModel(model.id, request.policy))", put: "if (true)" },
      ...NO_MODEL_RECHECK,
    ],
  },
  {
    name: "fallbacks-skip-the-model-allowlist",
    breaks: "POL-02",
    patches: [
      {
        file: FILTER_FILE,
        find: "!permitsModel(modelId, request.policy)",
        put: 'request.target.is === "model" && !permitsModel(modelId, request.policy)',
      },
      ...NO_MODEL_RECHECK,
    ],
  },
  one("router-of-others-by-name", "ROUTE-01", RESOLVE_TARGET, "workspace === workspaceSlug && slug", "slug"),
  one(
    "routers-shared",
    "ROUTE-01",
    DIRECTORY,
    "return this.routersByWorkspace.get(workspaceId)?.get(slug);",
    "return [...this.routersByWorkspace.values()].map((own) => own.get(slug)).find((found) => found !== undefined);",
  ),
  one("sessions-shared", "ROUTE-06", "src/domain/routing/session-affinity.ts", "{workspaceId} ${", "{"),
];

const KEYS: readonly Mutant[] = [
  {
    // Each of the three checks compensates for the other two except for a moment: a mutant has to disable all of them.
    name: "revoked-key-continues",
    breaks: "KEY-04",
    patches: [
      { file: RUN, find: "gateway.recheckKey(exchange);\n    let planned", put: "let planned" },
      { file: RUN, find: "hasSlot = true;\n      gateway.recheckKey(exchange);", put: "hasSlot = true;" },
      { file: ATTEMPT, find: "\n  recheckKey();", put: "" },
    ],
  },
];

/** Time: what held when the request was planned is assumed to hold still. */
const IN_FLIGHT: readonly Mutant[] = [
  one("checked-at-planning-only", "POL-02", ATTEMPT, "plan.recheckPolicy(row, policy)", "undefined"),
  {
    name: "checked-on-the-first-attempt-only",
    breaks: "POL-02",
    patches: [
      { file: ATTEMPT, find: "const platformUrl", put: "const seen = new WeakSet(); const platformUrl" },
      {
        file: ATTEMPT,
        find: "plan.recheckPolicy(row, policy)",
        put: "seen.has(trace) ? undefined : plan.recheckPolicy(row, policy); seen.add(trace); void router",
      },
    ],
  },
  one(
    "blocked-list-not-checked-again",
    "POL-02",
    ATTEMPT,
    "plan.recheckPolicy(row, policy)",
    "plan.recheckPolicy(row, { ...policy, blockedProviders: [] })",
  ),
  { name: "models-not-checked-again", breaks: "POL-02", patches: NO_MODEL_RECHECK },
  one(
    "policy-of-the-plan",
    "POL-02",
    PLAN,
    "const currentPolicy = () => {\n    const own = policyInForce(planning, request, target);",
    "const fixed = policyInForce(planning, request, target); const currentPolicy = () => {\n    const own = fixed;",
  ),
  one(
    "checked-before-the-credential",
    "POL-02",
    ATTEMPT,
    "return chain(headersFor(run, body), (headers) => dispatch(run, body, headers, handle));",
    "const early = run.currentPolicy(); return chain(headersFor(run, body), (headers) => dispatch({ ...run, currentPolicy: () => early }, body, headers, handle));",
  ),
  one("router-of-the-plan", "POL-01", PLAN, "now === undefined ? policy", "true ? policy"),
  one(
    "catalogue-of-the-plan",
    "POL-02",
    ATTEMPT,
    "const row = currentEndpointFor(gateway, attempt);",
    "const row = endpoint;",
  ),
  one("retired-endpoint-called", "POL-02", ATTEMPT, 'row.status === "retired" || ', ""),
  one(
    "disconnected-provider-called",
    "POL-02",
    ATTEMPT,
    " || connections?.credential(row.provider) === undefined",
    " || connections === undefined",
  ),
  one(
    "moved-endpoint-called",
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
    "chain(gateway.state.hold(hold),",
    'chain({ is: "held" },',
  ),
  one(
    "held-for-the-cheapest",
    "BILL-03",
    "src/app/pipeline/admit.ts",
    "if (needed > nanos) nanos = needed;",
    "if (nanos === 0n || needed < nanos) nanos = needed;",
  ),
  one("held-twice-over", "BILL-03", WALLETS, "if (availableNanos < nanos)", "if (wallet.balanceNanos < nanos)"),
  one(
    "hold-kept-after-settling",
    "BILL-03",
    WALLETS,
    "    if (hold === undefined) return;\n    this.#holds.delete(requestId);",
    "    if (hold === undefined) return;",
  ),
  one(
    "hold-kept-after-refusal",
    "BILL-03",
    SETTLE,
    "  await gateway.state.settle(trace.hold, 0n);\n  await recordUncharged",
    "  await recordUncharged",
  ),
  one(
    "settled-twice",
    "BILL-02",
    SETTLE,
    "const settling = gateway.state.settle(trace.hold, isOwnKey ? 0n : charge.nanos);",
    "await gateway.state.settle(trace.hold, charge.nanos); const settling = gateway.state.settle(trace.hold, charge.nanos);",
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
    SETTLE,
    "if (refused !== undefined) throw new SettledFault(refused);",
    "await settleUncharged(gateway, trace, disconnectedRecord(trace)); if (refused !== undefined) throw new SettledFault(refused);",
  ),
  one(
    "broken-streams-are-charged",
    "BILL-02",
    SETTLE_STREAM,
    "return settleBroken(request, outcome.stream, brokenStreamFault(outcome.verdict, request.trace.surface));",
    'return settleRelayed(request, stage, attempt, { ...outcome, is: "relayed" });',
  ),
  one(
    "unseen-output-is-charged",
    "BILL-02",
    SETTLE_STREAM,
    "stream === undefined || !stage.relay.hasSentContent",
    "stream === undefined",
  ),
  {
    name: "output-after-disconnect-is-charged",
    breaks: "BILL-02",
    patches: [
      { file: STREAM_RELAY, find: "      if (relay.disconnected) return true;\n", put: "" },
      {
        file: STREAM_RELAY,
        find: 'if (!relay.committed) this.#send("");\n    finish(relay.committed ?',
        put: 'if (!relay.committed) this.#send("");\n    finish(true ?',
      },
      { file: STREAM_RELAY, find: "if (!relay.disconnected && relay.markContent())", put: "if (relay.markContent())" },
    ],
  },
  one(
    "implausible-usage-accepted",
    "BILL-02",
    SETTLE,
    "return !isImplausibleUsage({ usage, outputWeight: () => metered.outputWeight, promptReads }, contextTokens, ceiling);",
    "return true;",
  ),
  one(
    "estimates-beyond-the-hold",
    "BILL-03",
    SETTLE,
    "usage.estimated ? capCharge(charge, trace.heldNanos) : charge",
    "charge",
  ),
];

const RETRIES: readonly Mutant[] = [
  one(
    "retry-after-content",
    "ROUTE-04",
    STREAM_RELAY,
    'else if (relay.committed) finish(brokenOutcome(relay, stream, verdict));\n      else finish({ is: "failed", verdict, upstreamStatus: 200 });\n      // Last',
    'else finish({ is: "failed", verdict, upstreamStatus: 200 });\n      // Last',
  ),
  {
    name: "budget-ignored",
    breaks: "ROUTE-04",
    patches: [
      {
        file: OVERLOAD,
        find: "if (this.#retries >= Math.max(this.#minimum, Math.floor(this.#active * this.#share)))",
        put: "if (false)",
      },
      { file: OVERLOAD, find: "if (this.#retries >= this.#minimum && this.#credit < 1)", put: "if (false)" },
    ],
  },
  one("budget-never-given-back", "ROUTE-04", RETRY_LOOP, "if (isRetry) retryBudget.release();", ""),
  one(
    "retried-after-acceptance",
    "ROUTE-04",
    CLASSIFY,
    'failure.sent || failure.kind === "aborted" ? undefined : RECONNECT_AFTER_MS',
    "RECONNECT_AFTER_MS",
  ),
  one("same-endpoint-retried-forever", "ROUTE-04", FAILURE_HANDLING, " || hasRetriedSame) return", ") return"),
  one(
    "attempts-without-end",
    "ROUTE-04",
    RETRY_LOOP,
    "this.attemptsMade < limits.attemptsMax +",
    "this.attemptsMade < 99 +",
  ),
  one("rejections-fail-over", "ERR-06", CLASSIFY, "if (CALLER_STATUSES.has(status) &&", "if (false &&"),
  one("no-deadline", "ROUTE-04", ATTEMPT, "() => this.#retryLoop.expire()", "() => undefined"),
  one("attempt-continues-after-disconnect", "CHAT-09", RELAY, "if (this.disconnected) cancel();", ""),
  one(
    "circuit-never-opens",
    "ROUTE-05",
    "src/domain/routing/failing-circuits.ts",
    "local.openUntilMonotonicMs = nowMs + Math.min(local.openCount * openMs, openMsMax);",
    "",
  ),
  {
    name: "open-circuit-ranked-first",
    breaks: "ROUTE-05",
    patches: [
      {
        file: "src/domain/routing/rank-tiers.ts",
        find: "OPEN_CIRCUIT_TIER + (tiers[index] ?? 0)",
        put: "(tiers[index] ?? 0)",
      },
      { file: RETRY_LOOP, find: "if (!isCircuitOpen(attempt)) return false;", put: "return false;" },
    ],
  },
  one(
    "open-circuit-excluded",
    "ROUTE-05",
    "src/domain/routing/rank.ts",
    "const choices = bestWithOwnResources(0, poolCount, order);",
    'const choices = bestWithOwnResources(0, poolCount, order).filter((index) => circuitStates?.get(index) !== "open");',
  ),
  one(
    "queue-ignored",
    "RATE-06",
    RUN,
    'if (gateway.queue.tryEnter() === "wait")',
    'if (gateway.queue.tryEnter() === "never")',
  ),
  one("queue-slot-lost", "RATE-06", RUN, "if (hasSlot) gateway.queue.leave();", ""),
  one(
    "queue-without-end",
    "RATE-06",
    "src/domain/admission/fair-queue.ts",
    "if (this.count >= this.#limits.queuedMax && !this.#evictForFairness(workspaceId))",
    "if (false)",
  ),
  one("endpoint-limit-ignored", "ROUTE-04", OVERLOAD, 'if (inUse + 1 > limit) return "full";', ""),
  one(
    "endpoint-slot-lost",
    "ROUTE-04",
    RETRY_LOOP,
    "} finally {\n        slots?.release(attempt.endpoint.id);",
    "} finally {",
  ),
  one(
    "real-time",
    "ROUTE-04",
    FAILURE_HANDLING,
    "return gateway.clock.monotonicMs() + waitMs <",
    "return performance.now() + waitMs <",
  ),
  one("real-randomness", "ROUTE-04", FAILURE_HANDLING, "gateway.random()", "Math.random()"),
];

const DATA_RULES = "src/domain/tenancy/data-class-rules.ts";
const GUARD = "src/app/pipeline/guard-content.ts";

/** Rules of data classes. */
const DATA: readonly Mutant[] = [
  one(
    "data-shown-one-rung-low",
    "CLASS-04",
    DATA_RULES,
    "LEVELS.indexOf(level as Level) <",
    "LEVELS.indexOf(level as Level) + 1 <",
  ),
  one("data-guarded-once", "CLASS-04", GUARD, 'if (done !== treatment && done !== "redact") return false;', ""),
  one(
    "split-values-stay",
    "CLASS-04",
    "src/app/pipeline/content-inspection.ts",
    "hasSplitValues: this.#hasSplitValues,",
    "",
  ),
];

export const MUTANTS: readonly Mutant[] = [...FILTER, ...LAYERS, ...DATA, ...KEYS, ...IN_FLIGHT, ...MONEY, ...RETRIES];
