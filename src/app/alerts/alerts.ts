import { eventOf, NOBODY } from "../../domain/alerts/alert-event.ts";
import type { AlertWatch } from "../../domain/alerts/alert-monitor.ts";
import type { AlertRules, WebhookSecrets } from "../../domain/alerts/alert-rules.ts";
import type { AlertStore } from "../../domain/alerts/alert-store.ts";
import type { Workspace } from "../../domain/tenancy/workspace.ts";
import { Ticker } from "../../kit/ticker.ts";
import { openSecrets, type Receiver, receiversOf, recipientsOf, sealSecrets, send } from "./channels.ts";
import type { AlertDeps } from "./deps.ts";
import { evaluate } from "./evaluation.ts";
import { deliver } from "./outbox.ts";

export type Tested = Receiver & { readonly ok: boolean; readonly detail: string };

/** Alerts of a running gateway: looked for and sent beside the requests, and what the management API asks of them. */
export class Alerts {
  readonly watch: AlertWatch;
  readonly #deps: AlertDeps;
  readonly #looking: Ticker;
  readonly #sending: Ticker;
  readonly #stopping = new AbortController();

  constructor(deps: AlertDeps) {
    const { watch, everyMs: intervalMs, timers, warn } = deps;
    this.#deps = deps;
    this.watch = watch;
    const onError = (error: unknown) => warn({ err: error }, "alerts could not be worked on; they are later");
    this.#sending = new Ticker({ intervalMs, timers, onError, task: () => deliver(deps, this.#stopping.signal) });
    this.#looking = new Ticker({
      intervalMs,
      timers,
      onError,
      task: async () => {
        if ((await evaluate(deps)) === "told") this.#sending.run();
      },
    });
  }

  /** With the rules that are kept. Every workspace that has some is looked at: it may have changed before the last end. */
  async start(): Promise<void> {
    for (const rules of await this.#deps.store.rules.all()) this.watch.put(rules);
    this.#looking.run();
    this.#sending.run();
  }

  /** What is on its way is given up, and sent again by the next process. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#looking.stop(), this.#sending.stop()]);
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

  /** A test to every receiver at once, without the outbox: what becomes of it is the answer. */
  test(rules: AlertRules, workspace: Workspace): Promise<Tested[]> {
    const { ids, clock, directory } = this.#deps;
    const alertId = ids.next("alert_");
    const event = eventOf({ id: alertId, atMs: clock.nowMs(), workspace }, { is: "test" }, NOBODY);
    const payload = JSON.stringify(event);
    return Promise.all(
      receiversOf(rules, directory).map(async (receiver) => {
        const problem = await this.#problem(receiver, rules);
        if (problem !== undefined) return { ...receiver, ok: false, detail: problem };
        const message = { ...receiver, id: ids.next("dlv_"), alertId, workspaceId: workspace.id, payload };
        const sent = await send(this.#deps, message, this.#stopping.signal);
        return { ...receiver, ok: sent.is === "delivered", detail: sent.detail };
      }),
    );
  }

  async #problem({ channel }: Receiver, { webhook }: AlertRules): Promise<string | undefined> {
    return channel === "webhook" && webhook !== null ? this.#deps.addressProblem(webhook.url) : undefined;
  }
}
