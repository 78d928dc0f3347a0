import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chargebackOf } from "../../src/domain/billing/ledger.ts";
import { readConfig } from "../../src/settings/config.ts";
import { gatewayForTest, type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { NEW_SECRET, PAYMENT_ENV, SECRET, STRIPE_SECRET, sendPayment, signed } from "../support/payments.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: PAYMENT_ENV });
}, 60_000);
afterAll(() => gateway.close());

let count = 0;

/** A workspace with an order over 50 EUR, and the message that pays it. */
async function ordered(more: Record<string, unknown> = {}) {
  count += 1;
  const { slug, key } = await gateway.tenant({ credit: "1.00" });
  const order = await gateway.manage("POST", `/workspaces/${slug}/wallet/orders`, {
    ...{ amount: "50.00", currency: "EUR", reference: `invoice-${count}`, adapter: "webhook" },
    ...more,
  });
  const message = (type: string, more: object = {}) => ({
    ...{ id: `evt_${count}_${type}`, type: `payment.${type}`, order: order.id, payment: `pay_${count}` },
    ...{ amount: "50.00", currency: "EUR" },
    ...more,
  });
  const wallet = async (): Promise<string> => (await gateway.manage("GET", `/workspaces/${slug}/wallet`)).balance;
  return { slug, key, order, message, wallet };
}

const outcomeOf = ({ status, body }: { status: number; body: Json }) => [status, body.outcome ?? body.error?.code];

async function expectBooksInOrder(): Promise<void> {
  const { ok, checks } = await gateway.manage("GET", "/doctor");
  expect([ok, checks.filter((check: Json) => !check.ok)]).toEqual([true, []]);
}

describe("signed messages", () => {
  test("BILL-01 a payment is credited once: repeats, concurrent ones and other events change nothing", async () => {
    const { slug, order, message, wallet } = await ordered();
    const paid = message("succeeded");
    const answers = await Promise.all(Array.from({ length: 8 }, () => sendPayment(gateway, paid)));
    expect(answers.map(outcomeOf).toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([
      [200, "credited"],
      ...Array.from({ length: 7 }, () => [200, "repeated"]),
    ]);
    expect(outcomeOf(await sendPayment(gateway, { ...paid, id: "evt_other" }))).toEqual([200, "repeated"]);
    expect(outcomeOf(await sendPayment(gateway, { ...paid, payment: "pay_second" }))).toEqual([409, "conflict"]);
    expect(outcomeOf(await sendPayment(gateway, { ...paid, payment: undefined }))).toEqual([200, "repeated"]);
    expect(await wallet()).toBe("51.00");
    const shown = await gateway.manage("GET", `/workspaces/${slug}/wallet/orders/${order.id}`);
    expect([shown.state, shown.payment]).toEqual(["paid", paid.payment]);
    const { data } = await gateway.manage("GET", `/workspaces/${slug}/wallet/entries?kind=topup&limit=1`);
    expect(data[0]).toMatchObject({ id: `payment:${order.id}`, amount: "50.00", note: order.reference });
    const audit = await gateway.manage("GET", `/audit?action=wallet.pay&workspace=${slug}`);
    expect(audit.data).toHaveLength(1);
    expect(audit.data[0]).toMatchObject({ actor: "payment:webhook", target: `payment:${order.id}` });
    await expectBooksInOrder();
  });

  test("BILL-01 accepts both secrets during a rotation, and several signatures in one header", async () => {
    const one = await ordered();
    expect(outcomeOf(await sendPayment(gateway, one.message("succeeded"), { secret: NEW_SECRET }))).toEqual([
      200,
      "credited",
    ]);
    const two = await ordered();
    const text = JSON.stringify(two.message("succeeded"));
    const [time, right] = signed(text, SECRET).split(",");
    const signature = `${time},v0=abc,v1=${"0".repeat(64)},${right}`;
    expect(outcomeOf(await sendPayment(gateway, text, { signature }))).toEqual([200, "credited"]);
  });

  test("BILL-01 an unsigned, wrongly signed, changed, old or future message changes nothing", async () => {
    const { message, wallet } = await ordered();
    const text = JSON.stringify(message("succeeded"));
    const now = Math.floor(Date.now() / 1000);
    const right = signed(text, SECRET);
    const wrong = {
      "no header": "",
      "no time": right.replace(/^t=\d+,/, ""),
      "two times": `t=${now - 1},${right}`,
      "another secret": signed(text, "another-secret-0123456789abcdef0123"),
      "the empty secret": signed(text, ""),
      "another adapter's secret": signed(text, STRIPE_SECRET),
      "another text": signed(`${text} `, SECRET),
      "another time": right.replace(/^t=\d+/, `t=${now + 1}`),
      "half a signature": right.slice(0, -32),
      old: signed(text, SECRET, now - 301),
      early: signed(text, SECRET, now + 320),
      "v0 only": right.replace("v1=", "v0="),
    };
    for (const [name, signature] of Object.entries(wrong)) {
      const answer = await sendPayment(gateway, text, { signature });
      expect([name, ...outcomeOf(answer)]).toEqual([name, 403, "not_allowed"]);
    }
    expect(await wallet()).toBe("1.00");
    expect(outcomeOf(await sendPayment(gateway, text, { signature: signed(text, SECRET, now - 250) }))).toEqual([
      200,
      "credited",
    ]);
  });

  test("BILL-06 BILL-01 another amount, currency, order or adapter changes nothing", async () => {
    const { slug, message, wallet } = await ordered();
    const other = await ordered({ adapter: "stripe" });
    const refused: [object, number][] = [
      [message("succeeded", { amount: "50.01" }), 409],
      [message("succeeded", { amount: "5000" }), 409],
      [message("succeeded", { amount: "0" }), 400],
      [message("succeeded", { amount: "-50.00" }), 400],
      [message("succeeded", { amount: 50 }), 400],
      [message("succeeded", { currency: "USD" }), 409],
      [message("succeeded", { order: "ord_none" }), 404],
      [message("succeeded", { order: other.order.id }), 404],
      [message("succeeded", { order: undefined }), 400],
    ];
    for (const [event, status] of refused) expect((await sendPayment(gateway, event)).status).toBe(status);
    expect((await sendPayment(gateway, "no json")).status).toBe(400);
    expect((await sendPayment(gateway, "[]")).status).toBe(400);
    expect(outcomeOf(await sendPayment(gateway, message("created")))).toEqual([200, "ignored"]);
    expect([await wallet(), await other.wallet()]).toEqual(["1.00", "1.00"]);
    const { data } = await gateway.manage("GET", `/workspaces/${slug}/wallet/orders`);
    expect(data.map((one: Json) => one.state)).toEqual(["open"]);
    await expectBooksInOrder();
  });

  test("BILL-01 an order paid by a payment without an id is not paid again by one with an id", async () => {
    const { message, wallet } = await ordered();
    const nameless = message("succeeded", { payment: undefined });
    expect(outcomeOf(await sendPayment(gateway, nameless))).toEqual([200, "credited"]);
    for (const event of [nameless, message("succeeded")])
      expect(outcomeOf(await sendPayment(gateway, event))).toEqual([200, "repeated"]);
    expect(await wallet()).toBe("51.00");
  });

  test("BILL-01 a payment that has paid one order does not pay another", async () => {
    const one = await ordered();
    const two = await ordered();
    await sendPayment(gateway, one.message("succeeded"));
    const again = two.message("succeeded", { payment: one.message("succeeded").payment });
    expect(outcomeOf(await sendPayment(gateway, again))).toEqual([409, "conflict"]);
    expect(await two.wallet()).toBe("1.00");
  });

  test("BILL-01 a refund message waits for the message of its payment", async () => {
    const { slug, message, wallet } = await ordered();
    const back = message("refunded", { amount: "20.00" });
    expect(outcomeOf(await sendPayment(gateway, back))).toEqual([409, "conflict"]);
    expect(await wallet()).toBe("1.00");
    await sendPayment(gateway, message("succeeded"));
    const answers = await Promise.all(Array.from({ length: 5 }, () => sendPayment(gateway, back)));
    expect(answers.map(outcomeOf).filter(([, outcome]) => outcome === "taken_back")).toHaveLength(1);
    expect(await wallet()).toBe("31.00");
    // Refunds of an order sum to at most its payment.
    expect(outcomeOf(await sendPayment(gateway, message("disputed")))).toEqual([200, "taken_back"]);
    expect(await wallet()).toBe("1.00");
    expect(outcomeOf(await sendPayment(gateway, message("disputed", { id: "evt_more" })))).toEqual([200, "repeated"]);
    expect(outcomeOf(await sendPayment(gateway, message("succeeded")))).toEqual([200, "repeated"]);
    expect(await wallet()).toBe("1.00");
    const audit = await gateway.manage("GET", `/audit?action=wallet.take_back&workspace=${slug}`);
    const actors = audit.data.map(({ actor, detail }: Json) => [actor, detail.amount]);
    expect(actors.toSorted()).toEqual(["-20.00", "-30.00"].map((amount) => ["payment:webhook", amount]));
    await expectBooksInOrder();
  });

  test("BILL-03 a chargeback of spent money leaves a debt, and nothing is served until it is paid", async () => {
    const { slug, key, message, wallet } = await ordered();
    await sendPayment(gateway, message("succeeded"));
    await gateway.manage("POST", `/workspaces/${slug}/wallet/adjustments`, {
      ...{ direction: "down", amount: "40.00", reference: "spent", reason: "as if it had been spent" },
    });
    await sendPayment(gateway, message("disputed"));
    expect(await wallet()).toBe("-39.00");
    const ask = { model: "sandbox/chat", messages: [{ role: "user", content: "hi" }], max_tokens: 5 };
    const refused = await gateway.call(key, "/v1/chat/completions", { body: ask });
    expect([refused.status, refused.body.error.code]).toEqual([402, "insufficient_credits"]);
    await gateway.manage("POST", `/workspaces/${slug}/wallet/credits`, { amount: "40.00" });
    expect((await gateway.call(key, "/v1/chat/completions", { body: ask })).status).toBe(200);
    await expectBooksInOrder();
  });

  test("BILL-01 refuses a too large body, another method and an unknown adapter", async () => {
    const { status } = await sendPayment(gateway, { pad: "x".repeat(300_000) });
    expect(status).toBe(413);
    expect((await gateway.call("", "/payments/webhook/webhook", { method: "GET" })).status).toBe(405);
    expect((await sendPayment(gateway, {}, { adapter: "paypal" })).status).toBe(404);
    expect((await sendPayment(gateway, {}, { adapter: "__proto__" })).status).toBe(404);
  });
});

describe("orders", () => {
  test("BILL-06 an order is created once by its reference, in the wallet's currency, with a known adapter", async () => {
    const { slug } = await gateway.tenant({ credit: "1.00", currency: "USD" });
    const make = async (more: object) => {
      const body = { amount: "10.00", currency: "USD", reference: "a", adapter: "webhook", ...more };
      const headers = { authorization: `Bearer ${gateway.adminToken}` };
      return gateway.call("", `/manage/workspaces/${slug}/wallet/orders`, { body, headers });
    };
    const first = await make({});
    expect([first.status, first.body.repeated]).toEqual([201, false]);
    const again = await make({});
    expect([again.status, again.body.repeated, again.body.id]).toEqual([201, true, first.body.id]);
    expect((await make({ amount: "11.00" })).status).toBe(409);
    expect((await make({ adapter: "stripe" })).body.error.param).toBe("reference");
    expect((await make({ reference: "b", currency: "EUR" })).body.error.param).toBe("currency");
    expect((await make({ reference: "b", adapter: "paypal" })).body.error.param).toBe("adapter");
    expect((await make({ reference: "b", adapter: undefined })).body.error.param).toBe("adapter");
    expect((await make({ reference: "b", adapter: "stripe", amount: "0.001" })).body.error.param).toBe("amount");
    expect((await make({ reference: "b", amount: "0" })).status).toBe(400);
    const { data } = await gateway.manage("GET", `/workspaces/${slug}/wallet/orders`);
    expect(data).toHaveLength(1);
  });

  test("PORTAL-05 a workspace sees its payment methods, the page of an open order and a contact", async () => {
    const bare = await gatewayForTest({});
    expect(await bare.manage("GET", "/workspaces/demo/wallet/top-up")).toEqual({
      currency: "EUR",
      ways: [],
      contact: null,
    });
    const paying = await gatewayForTest({
      env: {
        ...PAYMENT_ENV,
        GATEWAY_PAYMENT_WEBHOOK_PAGE:
          "https://pay.example.eu/?o={order}&a={amount}&m={minor}&c={currency}&r={reference}",
        GATEWAY_OPERATOR_CONTACT: "billing@example.eu",
      },
    });
    const wallet = "/workspaces/demo/wallet";
    expect(await paying.manage("GET", `${wallet}/top-up`)).toMatchObject({
      ways: expect.arrayContaining([
        { adapter: "webhook", has_page: true },
        { adapter: "stripe", has_page: false },
      ]),
      contact: "billing@example.eu",
    });
    const make = (adapter: string) =>
      paying.manage("POST", `${wallet}/orders`, {
        amount: "12.50",
        currency: "EUR",
        reference: `a:${adapter}`,
        adapter,
      });
    const order = await make("webhook");
    expect(order.pay_url).toBe(`https://pay.example.eu/?o=${order.id}&a=12.50&m=1250&c=EUR&r=a%3Awebhook`);
    expect((await make("stripe")).pay_url).toBeNull();
    await sendPayment(paying, {
      ...{ id: "evt_1", type: "payment.succeeded", order: order.id, payment: "pay_1" },
      ...{ amount: "12.50", currency: "EUR" },
    });
    expect(await paying.manage("GET", `${wallet}/orders/${order.id}`)).toMatchObject({ state: "paid", pay_url: null });
    for (const page of ["javascript:alert({order})", "https://pay.example.eu/", "not an address {order}"])
      expect(() => readConfig({ GATEWAY_PAYMENT_STRIPE_PAGE: page }), page).toThrow("GATEWAY_PAYMENT_STRIPE_PAGE");
  });
});

describe("Stripe", () => {
  /** An event as in Stripe's documentation of webhooks and of the object. */
  const event = (id: string, type: string, object: object) => ({
    ...{ id, object: "event", api_version: "2026-01-28", created: 1_790_000_000, livemode: false, type },
    data: { object },
  });
  const session = (orderId: string, intent: string, more: object = {}) => ({
    ...{ id: "cs_test_1", object: "checkout.session", amount_total: 5000, currency: "eur", metadata: {} },
    ...{ client_reference_id: orderId, payment_intent: intent, payment_status: "paid", status: "complete" },
    ...more,
  });
  const dispute = (id: string, intent: string, amount: number, status = "needs_response") => ({
    ...{ id, object: "dispute", amount, currency: "eur", charge: "ch_1", payment_intent: intent, status },
  });
  const CREATED = "charge.dispute.created";
  const WITHDRAWN = "charge.dispute.funds_withdrawn";
  const send = async (body: object, to = gateway) => outcomeOf(await sendPayment(to, body, { adapter: "stripe" }));

  /** A paid order over 50 EUR, beside a balance of 1.00. */
  async function paidOrder() {
    const made = await ordered({ adapter: "stripe" });
    const intent = `pi_${count}`;
    const paid = event(`evt_p_${count}`, "checkout.session.completed", session(made.order.id, intent));
    expect(await send(paid)).toEqual([200, "credited"]);
    return { ...made, intent };
  }

  test("BILL-01 a session and its payment credit once; refunds count in total, disputes the rest", async () => {
    const { order, wallet } = await ordered({ adapter: "stripe" });
    const intent = `pi_${count}`;
    const unpaid = session(order.id, intent, { payment_status: "unpaid" });
    expect(await send(event("evt_s0", "checkout.session.completed", unpaid))).toEqual([200, "ignored"]);
    const paid = session(order.id, intent);
    expect(await send(event("evt_s1", "checkout.session.completed", paid))).toEqual([200, "credited"]);
    const intentBody = { id: intent, amount_received: 5000, currency: "eur", metadata: { order: order.id } };
    expect(await send(event("evt_s2", "payment_intent.succeeded", intentBody))).toEqual([200, "repeated"]);
    expect(await wallet()).toBe("51.00");
    const charge = (refunded: number) => ({
      ...{ id: "ch_1", object: "charge", amount: 5000, amount_refunded: refunded, currency: "eur" },
      payment_intent: intent,
    });
    expect(await send(event("evt_r1", "charge.refunded", charge(1000)))).toEqual([200, "taken_back"]);
    expect(await send(event("evt_r1", "charge.refunded", charge(1000)))).toEqual([200, "repeated"]);
    expect(await send(event("evt_r2", "charge.refunded", charge(1500)))).toEqual([200, "taken_back"]);
    expect(await send(event("evt_r0", "charge.refunded", charge(1000)))).toEqual([200, "repeated"]);
    expect(await wallet()).toBe("36.00");
    const disputed = event("evt_d1", "charge.dispute.created", dispute("dp_1", intent, 5000));
    expect(await send(disputed)).toEqual([200, "taken_back"]);
    expect(await send(disputed)).toEqual([200, "repeated"]);
    expect(await wallet()).toBe("1.00");
    await expectBooksInOrder();
  });

  test("BILL-01 a refund beside a dispute is booked too: the refund total does not hide what a bank took", async () => {
    const { order, wallet } = await ordered({ adapter: "stripe" });
    const intent = `pi_${count}`;
    const charge = (refunded: number) => ({
      ...{ id: "ch_2", object: "charge", amount: 5000, amount_refunded: refunded, currency: "eur" },
      payment_intent: intent,
    });
    const took = [200, "taken_back"];
    const paid = event(`evt_b1_${count}`, "checkout.session.completed", session(order.id, intent));
    expect(await send(paid)).toEqual([200, "credited"]);
    expect(await send(event(`evt_b2_${count}`, "charge.refunded", charge(500)))).toEqual(took);
    expect(await send(event(`evt_b3_${count}`, "charge.dispute.created", dispute("dp_2", intent, 1000)))).toEqual(took);
    expect(await send(event(`evt_b4_${count}`, "charge.refunded", charge(1200)))).toEqual(took);
    expect(await wallet()).toBe("29.00");
    expect(await send(event(`evt_b5_${count}`, "charge.refunded", charge(5000)))).toEqual(took);
    expect(await wallet()).toBe("1.00");
    await expectBooksInOrder();
  });

  test("BILL-02 a dispute is booked once by its id, whichever of its messages come, in any order", async () => {
    const took = [200, "taken_back"];
    const again = [200, "repeated"];
    for (const [at, types] of [[CREATED, WITHDRAWN, CREATED], [WITHDRAWN, CREATED, WITHDRAWN], [WITHDRAWN]].entries()) {
      const { slug, intent, wallet } = await paidOrder();
      const disputed = dispute(`dp_once_${at}`, intent, 2000);
      const answers = [];
      for (const [index, type] of types.entries())
        answers.push(await send(event(`evt_o${at}_${index}`, type, disputed)));
      expect(answers).toEqual([took, ...types.slice(1).map(() => again)]);
      expect(await wallet()).toBe("31.00");
      const { data } = await gateway.manage("GET", `/workspaces/${slug}/wallet/entries?kind=chargeback`);
      expect(data.map((one: Json) => one.amount)).toEqual(["-20.00"]);
      // Another dispute over the same amount is a separate one.
      expect(await send(event(`evt_o${at}_x`, WITHDRAWN, dispute(`dp_more_${at}`, intent, 2000)))).toEqual(took);
      expect(await wallet()).toBe("11.00");
    }
    const { intent, wallet } = await paidOrder();
    const disputed = dispute("dp_at_once", intent, 2000);
    const types = [CREATED, WITHDRAWN, CREATED, WITHDRAWN, CREATED, WITHDRAWN];
    const answers = await Promise.all(types.map((type, at) => send(event(`evt_at_once_${at}`, type, disputed))));
    expect(answers.filter(([, outcome]) => outcome === "taken_back")).toHaveLength(1);
    expect(await wallet()).toBe("31.00");
    await expectBooksInOrder();
  });

  test("BILL-01 an inquiry books nothing; a withdrawal when it becomes a dispute does", async () => {
    const { intent, wallet } = await paidOrder();
    for (const status of ["warning_needs_response", "warning_under_review", "warning_closed", "prevented", "won"])
      expect(await send(event(`evt_i_${status}`, CREATED, dispute("dp_i", intent, 2000, status)))).toEqual([
        ...[200, "ignored"],
      ]);
    expect(await send(event("evt_i_none", CREATED, { ...dispute("dp_i", intent, 2000), status: null }))).toEqual([
      ...[400, "invalid_value"],
    ]);
    expect(await wallet()).toBe("51.00");
    expect(await send(event("evt_i_1", WITHDRAWN, dispute("dp_i", intent, 2000)))).toEqual([200, "taken_back"]);
    expect(await send(event("evt_i_2", WITHDRAWN, dispute("dp_i", intent, 2000, "lost")))).toEqual([200, "repeated"]);
    expect(await wallet()).toBe("31.00");
    await expectBooksInOrder();
  });

  test("BILL-02 a dispute booked under its message id is not booked again under its own id", async () => {
    const dataDir = mkdtempSync(path.join(tmpdir(), "gateway-dispute-"));
    try {
      const first = await startGateway({ env: PAYMENT_ENV, dataDir });
      const made = { amount: "50.00", currency: "EUR", reference: "old", adapter: "stripe" };
      const order = await first.manage("POST", "/workspaces/demo/wallet/orders", made);
      expect(await send(event("evt_old_p", "checkout.session.completed", session(order.id, "pi_old")), first)).toEqual([
        200,
        "credited",
      ]);
      const before = Number((await first.manage("GET", "/workspaces/demo/wallet")).balance);
      await first.close();
      const later = await startGateway({
        ...{ env: PAYMENT_ENV, dataDir },
        prepare: async (store) => {
          const paid = await store.payments.order(order.id);
          if (paid === undefined) throw new Error("the order is gone");
          const { workspaceId, currency } = paid;
          const source = { id: `payment:${order.id}`, workspaceId, createdAtMs: paid.paidAtMs ?? 0 };
          const chargeback = chargebackOf({
            ...{ id: `disputed:${order.id}:evt_old`, workspaceId, currency, nanos: 20_000_000_000n },
            ...{ createdAtMs: source.createdAtMs + 1, note: "old" },
            detail: { source: source.id, order: order.id, adapter: "stripe", event: "evt_old" },
          });
          await store.change(async ({ ledger }) => {
            await ledger.post(chargeback);
            await ledger.recordReturn(chargeback.id, source);
            return { result: null, audit: null };
          });
        },
      });
      try {
        const wallet = async () => before - Number((await later.manage("GET", "/workspaces/demo/wallet")).balance);
        const disputed = dispute("dp_old", "pi_old", 2000);
        expect(await send(event("evt_old", CREATED, disputed), later)).toEqual([200, "repeated"]);
        expect(await send(event("evt_old_2", CREATED, disputed), later)).toEqual([200, "repeated"]);
        expect(await send(event("evt_old_3", WITHDRAWN, disputed), later)).toEqual([200, "repeated"]);
        expect(await wallet()).toBe(20);
        const other = dispute("dp_new", "pi_old", 1000);
        expect(await send(event("evt_new", WITHDRAWN, other), later)).toEqual([200, "taken_back"]);
        expect(await send(event("evt_new_2", CREATED, other), later)).toEqual([200, "repeated"]);
        expect(await wallet()).toBe(30);
      } finally {
        await later.close();
      }
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  }, 60_000);

  test("BILL-01 a message without one of our orders is ignored, another amount or currency refused", async () => {
    const { order, wallet } = await ordered({ adapter: "stripe" });
    const nameless = session(order.id, "pi_n", { client_reference_id: null });
    expect(await send(event("evt_1", "checkout.session.completed", nameless))).toEqual([200, "ignored"]);
    expect(await send(event("evt_2", "customer.created", { id: "cus_1" }))).toEqual([200, "ignored"]);
    const others = session("shop-user-77", "pi_n", { metadata: { order: "1734" }, currency: "jpy" });
    expect(await send(event("evt_7", "checkout.session.completed", others))).toEqual([200, "ignored"]);
    const bought = { id: "pi_n", amount_received: 5000, currency: "eur", metadata: { order: "1734" } };
    expect(await send(event("evt_8", "payment_intent.succeeded", bought))).toEqual([200, "ignored"]);
    const unknown = session("ord_none", "pi_n");
    expect(await send(event("evt_9", "checkout.session.completed", unknown))).toEqual([404, "not_found"]);
    for (const odd of ["\u0000", "a\u0000b", "\ud800", "x".repeat(256), ""]) {
      const completed = session(order.id, "pi_n", { client_reference_id: odd });
      expect(await send(event("evt_o", "checkout.session.completed", completed))).toEqual([400, "invalid_value"]);
      expect(await send(event(odd, "checkout.session.completed", session(order.id, "pi_n")))).toEqual([
        ...[400, "invalid_value"],
      ]);
    }
    const small = session(order.id, "pi_n", { amount_total: 1 });
    expect(await send(event("evt_3", "checkout.session.completed", small))).toEqual([409, "conflict"]);
    const dollars = session(order.id, "pi_n", { currency: "usd" });
    expect(await send(event("evt_4", "checkout.session.completed", dollars))).toEqual([409, "conflict"]);
    const yen = session(order.id, "pi_n", { currency: "jpy" });
    expect(await send(event("evt_5", "checkout.session.completed", yen))).toEqual([400, "invalid_value"]);
    const text = JSON.stringify(event("evt_6", "checkout.session.completed", session(order.id, "pi_n")));
    const forged = { adapter: "stripe", signature: signed(text, SECRET) };
    expect((await sendPayment(gateway, text, forged)).status).toBe(403);
    expect(await wallet()).toBe("1.00");
    const beside = session("shop-user-77", "pi_n", { metadata: { order: order.id } });
    expect(await send(event("evt_10", "checkout.session.completed", beside))).toEqual([200, "credited"]);
    expect(await wallet()).toBe("51.00");
  });
});

describe("settings", () => {
  const problem = (env: Record<string, string>): string => {
    try {
      readConfig(env);
      return "";
    } catch (error) {
      return String(error);
    }
  };

  test("BILL-01 an adapter without a secret, or with an empty or short one, does not start", () => {
    const on = { GATEWAY_PAYMENTS: "webhook" };
    const name = "GATEWAY_PAYMENT_WEBHOOK_SECRETS";
    expect(problem(on)).toContain(name);
    for (const secrets of ["", " ", "short", `${SECRET},`, `,${SECRET}`, `${SECRET},short`])
      expect([secrets, problem({ ...on, [name]: secrets })]).toEqual([secrets, expect.stringContaining(name)]);
    expect(problem({ ...on, [name]: SECRET })).toBe("");
    expect(problem({ [name]: SECRET })).toContain("GATEWAY_PAYMENTS");
    expect(problem({ GATEWAY_PAYMENTS: "paypal" })).toContain("GATEWAY_PAYMENTS");
  });

  test("BILL-01 without an adapter there are no orders and no webhook", async () => {
    const bare = await startGateway();
    try {
      expect((await sendPayment(bare, {})).status).toBe(404);
      const body = { amount: "1.00", currency: "EUR", reference: "a" };
      await expect(bare.manage("POST", "/workspaces/demo/wallet/orders", body)).rejects.toThrow();
    } finally {
      await bare.close();
    }
  });
});
