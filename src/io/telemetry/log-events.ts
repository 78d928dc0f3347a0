/** A log message at `warn` or above, which an operator may alert on. */
export type LogEvent = {
  /** The highest level at which it is logged. */
  readonly level: "warn" | "error";
  readonly fields: readonly string[];
  /** What an operator should do. */
  readonly action: string;
};

type LogEventOf = (fields: readonly string[], action: string) => LogEvent;

const warn: LogEventOf = (fields, action) => ({ level: "warn", fields, action });
const error: LogEventOf = (fields, action) => ({ level: "error", fields, action });

/**
 * Every log message at `warn` and above, as `component: event`. docs/logs.md is generated from this table, and
 * tests/log-events.test.ts compares it with the log calls in src.
 */
export const LOG_EVENTS: Readonly<Record<string, LogEvent>> = {
  "accounts: notice of failed sign-ins not sent": warn(
    ["err"],
    "Check the store; the failed sign-ins are in the audit log (`person.sign_in_failed`).",
  ),
  "accounts: removal of expired sessions failed": warn(
    ["err"],
    "Check the store; the next sweep retries within a minute.",
  ),
  "accounts: sending mail failed": warn(
    ["reason"],
    "Check GATEWAY_SMTP_URL and the mail server; send the invitation or reset again.",
  ),
  "alerts: delivery abandoned": warn(
    ["workspace", "channel", "delivery"],
    "Check the webhook or mail server of the workspace, then `gateway alert test`.",
  ),
  "alerts: delivery attempt failed": warn(
    ["err", "delivery"],
    "Check the store; the delivery is retried with a backoff.",
  ),
  "alerts: evaluation failed, will be retried": warn(
    ["err", "workspace"],
    "Check the store; if it keeps failing, check the alert rules of this workspace.",
  ),
  "alerts: run failed, will be retried": warn(["err"], "Check the store; no alert is lost."),
  "auth-library: error": warn(["detail"], "Read the field `detail`; report it if sign-ins fail."),
  "auth-library: request failed": warn(["err"], "Check the store; the affected user can try again."),
  "batches: check for work failed": warn(["err"], "Check the store; the check is repeated within seconds."),
  "batches: end of part not stored": warn(
    ["err", "batch", "part"],
    "Check the store; the part is continued once its claim has expired.",
  ),
  "batches: part not opened": warn(
    ["err", "batch", "part"],
    "Check the store and the journal; the part is opened again once its claim has expired.",
  ),
  "batches: removal of expired files failed": warn(["err"], "Check the store; the next sweep retries."),
  "batches: step failed": warn(["err", "batch"], "Check the store; the step is repeated once its claim has expired."),
  "captures: item not stored": warn(
    ["requestId", "window", "err"],
    "Check the store and the limits of the capture window; the request itself was served.",
  ),
  "captures: sweep of expired items failed": warn(["err"], "Check the store; the next sweep retries."),
  "catalogue: parameter rejected by the provider": warn(
    ["endpoint", "provider", "parameter"],
    "Correct `features` or `supported_params` of the endpoint in the catalogue; the requests went to other endpoints.",
  ),
  "edge: forwarded address of an untrusted peer ignored": warn(
    ["peer"],
    "If the peer is your proxy, add its address to GATEWAY_TRUSTED_PROXIES: until then all its callers share one address limit, and IP allowlists see the proxy. If not, a caller made the header up. Logged once; `gateway doctor` lists the peers.",
  ),
  "edge: request failed": error(
    ["requestId", "code", "status", "detail", "message"],
    "Read `code` and `detail`; an `internal_error` is a bug of the gateway, please report it with the request id.",
  ),
  "fleet: synchronization failed, retrying": warn(
    ["err"],
    "Check Redis and the store; until it succeeds, changes reach this instance late.",
  ),
  "idempotency: sweep of expired keys failed": warn(["err"], "Check the store; the next sweep retries."),
  "instance-lock: connection lost, lock released": warn(
    ["database"],
    "Check PostgreSQL; nothing is written to it until the lock is reacquired, requests stay in the journal.",
  ),
  "instance-lock: database is in use by another gateway": error(
    ["database", "holder"],
    "This process drains and exits with code 1. Stop one of the two gateways, or set REDIS_URL on both.",
  ),
  "instance-lock: database unreachable, will retry": warn(["error"], "Check PostgreSQL and the network."),
  "journal: final ingest failed, records stay in the journal": error(
    ["err", "records"],
    "Start the gateway again with a working store: it replays them.",
  ),
  "journal: free requests older than the log retention skipped": warn(
    ["records"],
    "None: they would be deleted from the log at once.",
  ),
  "journal: half full, paid work is refused until ingest has caught up": error(
    ["bytes", "records"],
    "The store is slower than the load: see docs/guides/alerts-runbook.md#gatewayjournalbehind.",
  ),
  "journal: ingest failed, retrying": warn(
    ["err", "records", "waitMs"],
    "Check the store; records wait in the journal and none is lost.",
  ),
  "journal: ingest is slower than requests arrive": warn(
    ["bytes", "records"],
    "Give the store a faster disk or more CPU, or spread the load, before the journal is half full.",
  ),
  "journal: record rejected, appended to dead letters": error(
    ["why", "file"],
    "Inspect the dead-letter file and ingest or delete it, see docs/guides/operate.md.",
  ),
  "journal: segment removal failed": warn(
    ["err", "file"],
    "Check the permissions of DATA_DIR/journal; the segment is removed later.",
  ),
  "journal: segment truncated at its first invalid frame": warn(
    ["file", "atByte", "restBytes"],
    "Check the disk; inspect the dead-letter file, see docs/guides/operate.md.",
  ),
  "journal: write failed, paid work is refused": error(
    ["err"],
    "Free space on the disk of DATA_DIR or repair it; the gateway recovers automatically.",
  ),
  "ledger: lookup of uncertain transactions failed": warn(
    ["err"],
    "Check the store; the lookup is repeated every minute.",
  ),
  "ledger: transactions with unknown outcome": warn(
    ["open"],
    "Check the store; the outcome is looked up again every minute.",
  ),
  "lifecycle: drain deadline exceeded": warn(
    ["components"],
    "Report it with the names of the components; they were closed anyway.",
  ),
  "log-export: expiry of unconfigured targets failed": warn(["err"], "Check the store; the next run retries."),
  "log-export: queueing failed, requests are not exported": warn(
    ["err", "records"],
    "Check the store; the requests are in the request log and can be exported with `gateway log export`.",
  ),
  "log-export: record rejected and dropped": warn(
    ["target", "request"],
    "Check why the target rejects this request; it stays in the request log.",
  ),
  "log-export: send failed, will be retried": warn(
    ["err", "target"],
    "Check the target; records stay in the outbox for GATEWAY_LOG_EXPORT_KEEP.",
  ),
  "log-export: target unavailable, will be retried": warn(
    ["target"],
    "Check the target; records stay in the outbox for GATEWAY_LOG_EXPORT_KEEP.",
  ),
  "log-retention: deletion failed, will be retried": warn(
    ["err"],
    "Check the store; the next run deletes the expired requests.",
  ),
  "log-retention: partition creation failed": warn(
    ["err"],
    "Check the permissions of the database user; the default partition is used meanwhile.",
  ),
  "master-key: rewrap incomplete, will be retried": warn(
    ["err"],
    "Keep the previous master key configured until `gateway master-key status` reports that it is unused.",
  ),
  "migration: waiting for a table lock, will retry": warn(
    ["migration"],
    "End long transactions on the database, such as dumps.",
  ),
  "nodes: implausible response, circuit opened": warn(
    ["node", "workspace", "reason"],
    "Ask the workspace to check the node; it is tried again when its circuit half-opens.",
  ),
  "nodes: storing the last contact failed": warn(["err"], "Check the store; only the displayed time is stale."),
  "nodes: writing the audit entry failed": warn(["err"], "Check the store; the event is only in this log line."),
  "operator-token: address throttled after wrong tokens": warn(
    ["address"],
    "Find out who sends from this address; if it guesses, block it in front of the gateway. If it is your own client, give it the current token.",
  ),
  "payments: message rejected, no money moved": warn(
    ["adapter"],
    "Compare the payment with the order at the payment provider; check the signing secrets.",
  ),
  "peer-link: exchanging node locations failed": warn(
    ["err"],
    "Check Redis; nodes of other instances may be unreachable.",
  ),
  "peer-link: rejected connection without a valid instance key": warn(
    [],
    "Find the client that connects to GATEWAY_PEER_PORT; allow only instances of this gateway.",
  ),
  "prober: endpoint failed its proof": warn(
    ["endpoint", "surface", "failures", "reason"],
    "Read the field `reason`; the endpoint is not used on this surface after GATEWAY_PROOF_FAILURES failures.",
  ),
  "prober: endpoint proven without images": warn(
    ["endpoint", "surface", "failures", "reason"],
    "The endpoint gets no images; check with the provider, then run `gateway probe`.",
  ),
  "prober: probe failed": warn(
    ["err", "endpoint", "surface"],
    "Run `gateway probe` for this endpoint; check its provider.",
  ),
  "prober: proof not stored, valid until restart": warn(
    ["err", "endpoint", "surface"],
    "Check the store; the endpoint is probed again after a restart.",
  ),
  "prober: run failed, will be retried": warn(["err"], "Check the store; the next run retries."),
  "promotions: expiry of a workspace failed, will be retried": warn(
    ["err", "workspaceId"],
    "Check the store and the wallet of this workspace.",
  ),
  "promotions: expiry run failed, will be retried": warn(
    ["err"],
    "Check the store; promotional credit stays until the next run.",
  ),
  "promotions: next expiry could not be scheduled": warn(["err"], "Check the store; the next run schedules it."),
  "provider-keys: decryption failed, connect the key again": warn(
    ["workspace", "provider", "owner"],
    "Check the master key; connect the provider key again.",
  ),
  "provider-keys: key is unusable": warn(
    ["workspace", "provider", "owner", "problem"],
    "Read the field `problem`; connect a valid provider key.",
  ),
  "provider: credential, account or deployment rejected": warn(
    ["endpoint", "provider", "upstreamStatus"],
    "Check the provider's account, then `gateway provider test <provider>`.",
  ),
  "provider: implausible usage, charged by own token count": warn(
    ["endpoint", "provider", "requestId"],
    "Compare the request with the provider's bill; report it to the provider.",
  ),
  "provider: usage missing, charged by own token count": warn(
    ["endpoint", "provider", "requestId"],
    "Compare some requests with the provider's bill; report it to the provider.",
  ),
  "rates: fetch failed, current rates stay in force": warn(
    ["problem"],
    "Check GATEWAY_RATES_URL; `gateway doctor` reports stale rates.",
  ),
  "rates: fetched rate rejected": warn(
    ["currency", "per_eur", "why"],
    "Compare the rate with another source; set it with `gateway rates set` if it is right.",
  ),
  "rates: update failed, current rates stay in force": warn(["err"], "Check the store; the next fetch retries."),
  "redis: circuit opened, no reply in time": warn(
    [],
    "Check the load and latency of Redis; paid requests are refused meanwhile.",
  ),
  "redis: connection lost, reconnecting": warn(
    ["reason"],
    "Check Redis and the network; paid requests are refused meanwhile.",
  ),
  "redis: new primary may lose wallets": error(
    ["reason", "fix"],
    "Do what `fix` says on every server that the Sentinels may promote; the next start refuses such a primary.",
  ),
  "redis: subscribe failed, retrying": warn(["err", "channel"], "Check Redis; changes of other instances arrive late."),
  "request-log: creating partitions failed, default partition is used": warn(
    ["error"],
    "Check the permissions of the database user.",
  ),
  "response-cache: lookup failed": warn(["err"], "Check the store; the request ran as without the cache."),
  "response-cache: removal of expired replies failed": warn(["err"], "Check the store; the next sweep retries."),
  "response-cache: write failed": warn(["err"], "Check the store; the replies are in memory only."),
  "responses: check for cancelled jobs failed": warn(["err"], "Check the store; the check is repeated."),
  "responses: check for orphaned jobs failed": warn(["err"], "Check the store and Redis; the check is repeated."),
  "responses: completion claim failed": warn(
    ["err", "requestId"],
    "Check the store; it is retried until the hold expires.",
  ),
  "responses: completion claim not released": warn(
    ["err", "requestId"],
    "Check the store; another instance may end the job later.",
  ),
  "responses: completion not stored": warn(["err", "requestId"], "Check the store; it is retried."),
  "responses: events not stored": warn(
    ["err", "requestId"],
    "Check the store; followers of this response may miss events.",
  ),
  "responses: interrupted job ended as failed": warn(
    ["requestId"],
    "None: the key of the job is no longer valid, or its request was already charged.",
  ),
  "responses: job failed": warn(
    ["err", "requestId"],
    "Read the fields; the response is marked as failed and the hold released.",
  ),
  "responses: job resume failed": warn(["err", "requestId"], "Check the store; the job is resumed at the next start."),
  "responses: not stored, quota exceeded": warn(
    ["requestId", "refusal"],
    "Raise GATEWAY_RESPONSES_MAX_BYTES, free disk space, or delete stored responses.",
  ),
  "responses: refused job not closed": warn(
    ["err", "requestId"],
    "Check the store; the job ends when the gateway restarts.",
  ),
  "responses: remote cancel failed": warn(["err", "requestId"], "Check Redis; send the cancellation again."),
  "responses: removal of expired responses failed": warn(["err"], "Check the store; the next sweep retries."),
  "responses: reply not stored before its charge": warn(
    ["err", "requestId"],
    "Check the store; the reply is stored again when the job ends.",
  ),
  "responses: start marker not stored": warn(["err", "requestId"], "Check the store; a crash may run this job again."),
  "responses: store failed": warn(
    ["err", "requestId"],
    "Check the store; the reply was served but cannot be retrieved.",
  ),
  "retry-queue: full, oldest step dropped": error(
    ["step"],
    "Redis was unavailable for too long; the wallets are rebuilt from SQL once it is back.",
  ),
  "settings: questionable value": warn(
    ["setting"],
    "Read the field `setting`; it names the variable and what to write.",
  ),
  "settings: unknown provider": warn(
    ["providers"],
    "Correct the slug in PROVIDER_<SLUG>_…, or add the provider to the catalogue.",
  ),
  "sso: prompt discovery failed, reauthentication disabled until restart": warn(
    ["err", "issuer"],
    "Check the discovery document of GATEWAY_OIDC_ISSUER, then restart the gateway.",
  ),
  "sso: provider unavailable": warn(
    ["err", "issuer"],
    "Check GATEWAY_OIDC_ISSUER and the identity provider; users can sign in with a password meanwhile.",
  ),
  "sso: tokens of the provider refused": warn(
    ["issuer", "reason"],
    "Read the field `reason`, and check the identity provider and its client for this gateway.",
  ),
  "status: endpoint activity not stored, will retry": warn(
    ["error"],
    "Check the store; the next flush retries within a minute.",
  ),
  "store-migration: data is migrated, but ANALYZE failed; run ANALYZE on the database": warn(
    ["error"],
    "Run ANALYZE on the database.",
  ),
  "store: ingest worker exited, next batch starts a new one": error(
    ["error"],
    "Check the memory of the machine; report it if it repeats.",
  ),
  "store: statistics not refreshed, will be retried": warn(
    ["err"],
    "Check the store; queries may be slower until it succeeds.",
  ),
  "telemetry: export failed, check OTEL_EXPORTER_OTLP_ENDPOINT": warn(
    ["receiver", "signal"],
    "Check the collector and its address; traces are dropped when the queue is full.",
  ),
  "upstream: isolation could not be stored": warn(
    ["origin", "err"],
    "Check the store; the next unsolicited bytes of this address try again. Other instances still share its connections.",
  ),
  "upstream: unsolicited bytes, connections are separate for each workspace from now on": warn(
    ["origin"],
    "Report it to the provider: its responses may reach the wrong request. Read the runbook of GatewayUnsolicitedBytes.",
  ),
  "wallet-state: closed, wallets will be rebuilt": warn(
    ["generation", "reason"],
    "None if it opens again within seconds; else check Redis and the store.",
  ),
  "wallet-state: not opened, retrying": warn(
    ["err"],
    "Check Redis, the store and the other instances; paid requests are refused meanwhile.",
  ),
  "wallet-state: rebuild started": warn(["generation"], "None: `wallet-state: opened` follows."),
  "wallet-state: wallet missing in Redis, all will be rebuilt": error(
    ["workspaceId"],
    "Check whether Redis lost data or was flushed; use a Redis for the gateway alone.",
  ),
  "workers: exit timeout, killing": error(
    ["worker", "pid"],
    "Raise GATEWAY_DRAIN_TIMEOUT_MS if requests take longer; its work is recovered.",
  ),
  "workers: exited unexpectedly, replacing": error(
    ["worker", "pid", "exitStatus"],
    "Check the exit status and the kernel log (out of memory); report a crash.",
  ),
  "workers: exited with unflushed work, starting recovery": error(
    ["worker", "pid", "exitStatus"],
    "None if it does not repeat; else check SQL and Redis.",
  ),
  "workers: journal recovery failed, retrying": warn(
    ["err", "worker"],
    "Check the store; requests of the exited worker stay held until it succeeds.",
  ),
  "workers: process creation failed": error(["worker", "err"], "Check the limits of processes, open files and memory."),
  "workers: rolling restart aborted, a new worker did not start": error(
    ["worker"],
    "Read the log lines of the new worker, fix the cause, then send SIGHUP again.",
  ),
  "workers: start failed, retrying": error(["worker"], "Read the log lines of this worker before it."),
};
