import { buildAlertEvent, NO_SPENDER_NAMES } from "../../domain/alerts/alert-event.ts";
import type { AlertMonitor } from "../../domain/alerts/alert-monitor.ts";
import type { AlertRules, WebhookSecrets } from "../../domain/alerts/alert-rules.ts";
import type { AlertStore } from "../../domain/alerts/alert-store.ts";
import type { Workspace } from "../../domain/tenancy/workspace.ts";
import { Ticker } from "../../kit/ticker.ts";
import { openSecrets, type Receiver, receiversOf, recipientsOf, sealSecrets, send } from "./channels.ts";
import type { AlertDeps } from "./deps.ts";
import { evaluateAlerts } from "./evaluation.ts";
import { deliverDue } from "./outbox.ts";

export type TestDelivery = Receiver & { readonly ok: boolean; readonly detail: string };

/** Evaluates and delivers alerts in the background, and serves the management API. */
export class Alerts {
  readonly monitor: AlertMonitor;
  readonly #deps: AlertDeps;
  readonly #evaluationTicker: Ticker;
  readonly #deliveryTicker: Ticker;
  readonly #shutdown = new AbortController();

  constructor(deps: AlertDeps) {
    const { monitor, everyMs: intervalMs, timers, warn } = deps;
    this.#deps = deps;
    this.monitor = monitor;
    const onError = (error: unknown) => warn({ err: error }, "alerts: run failed, will be retried");
    this.#deliveryTicker = new Ticker({
      intervalMs,
      timers,
      onError,
      task: () => deliverDue(deps, this.#shutdown.signal),
    });
    this.#evaluationTicker = new Ticker({
      intervalMs,
      timers,
      onError,
      task: async () => {
        if (await evaluateAlerts(deps)) this.#deliveryTicker.run();
      },
    });
  }

  /** Loads the rules and evaluates every workspace that has some: it may have changed before the restart. */
  async start(): Promise<void> {
    for (const rules of await this.#deps.store.rules.all()) this.monitor.putRules(rules);
    this.#evaluationTicker.run();
    this.#deliveryTicker.run();
  }

  /** Aborts deliveries in flight; the next process sends them again. */
  async stop(): Promise<void> {
    this.#shutdown.abort();
    await Promise.all([this.#evaluationTicker.stop(), this.#deliveryTicker.stop()]);
  }

  get sendsMail(): boolean {
    return this.#deps.mail !== undefined;
  }

  recipientsOf(rules: AlertRules): string[] {
    return recipientsOf(rules, this.#deps.directory);
  }

  deliveries(...page: Parameters<AlertStore["deliveries"]>): ReturnType<AlertStore["deliveries"]> {
    return this.#deps.store.deliveries(...page);
  }

  addressProblem(url: string): Promise<string | undefined> {
    return this.#deps.addressProblem(url);
  }

  seal(workspaceId: string, secrets: WebhookSecrets): Promise<Uint8Array> {
    return sealSecrets(this.#deps, workspaceId, secrets);
  }

  open(workspaceId: string, sealed: Uint8Array): Promise<WebhookSecrets> {
    return openSecrets(this.#deps, workspaceId, sealed);
  }

  /** Sends a test alert to every receiver directly, without the outbox, and returns the results. */
  test(rules: AlertRules, workspace: Workspace): Promise<TestDelivery[]> {
    const { ids, clock, directory } = this.#deps;
    const alertId = ids.next("alert_");
    const event = buildAlertEvent({ id: alertId, atMs: clock.nowMs(), workspace }, { is: "test" }, NO_SPENDER_NAMES);
    const payload = JSON.stringify(event);
    return Promise.all(
      receiversOf(rules, directory).map(async (receiver) => {
        const problem = await this.#problem(receiver, rules);
        if (problem !== undefined) return { ...receiver, ok: false, detail: problem };
        const message = { ...receiver, id: ids.next("dlv_"), alertId, workspaceId: workspace.id, payload };
        const sent = await send(this.#deps, message, this.#shutdown.signal);
        return { ...receiver, ok: sent.is === "delivered", detail: sent.detail };
      }),
    );
  }

  async #problem({ channel }: Receiver, { webhook }: AlertRules): Promise<string | undefined> {
    return channel === "webhook" && webhook !== null ? this.#deps.addressProblem(webhook.url) : undefined;
  }
}
