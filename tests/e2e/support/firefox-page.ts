import { expect } from "vitest";
import type { Json } from "../../support/gateway.ts";
import type { BidiConnection } from "./bidi.ts";

/** `role` and `name` as assistive technology reads them; `css` where neither says enough. */
export type ElementQuery = { readonly role: string; readonly name?: string | RegExp } | { readonly css: string };

/** The element was replaced between being found and being pressed; nothing was pressed, so it is looked up again. */
function lostElement(error: unknown): string {
  const reason = String(error);
  if (/move target out of bounds|no such element|no such node|stale element/.test(reason)) return reason;
  throw error;
}

type Element = { readonly sharedId: string };

/** To find an element by its role, Firefox computes the roles of the whole page. */
const WAIT = { timeout: 20_000, interval: 200 };
const ENTER = "\uE007";

/** Firefox finds exact names only; a pattern is compared with the label or text. */
const NAME = "(element) => element.ariaLabel ?? element.labels?.[0]?.innerText ?? element.innerText.trim()";
/** Scrolling to an element in sight would move an open popup away; a popup that is still being placed moves by itself. */
const IS_USABLE = `async (element) => {
  const box = () => element.getBoundingClientRect();
  const first = box();
  if (first.top < 0 || first.bottom > innerHeight) element.scrollIntoView({ block: "center", inline: "nearest" });
  const { x, y } = box();
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  const isStill = box().x === x && box().y === y;
  const isVisible = element.checkVisibility({ visibilityProperty: true });
  return isStill && isVisible && !element.matches(':disabled, [aria-disabled="true"]');
}`;

/** A page of Firefox. Actions wait for their element; input goes through the browser as from a person's devices. */
export class FirefoxPage {
  readonly #connection: BidiConnection;
  readonly #context: string;

  constructor(connection: BidiConnection, context: string) {
    this.#connection = connection;
    this.#context = context;
  }

  async goto(url: string): Promise<void> {
    await this.#connection.send("browsingContext.navigate", { context: this.#context, url, wait: "interactive" });
  }

  /** The value of an expression that JSON can represent. */
  async evaluate(expression: string): Promise<Json> {
    const { exceptionDetails, result } = await this.#connection.send("script.evaluate", {
      expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value ?? null))`,
      target: { context: this.#context },
      awaitPromise: true,
    });
    if (exceptionDetails !== undefined) throw new Error(`${expression}: ${exceptionDetails.text}`);
    return JSON.parse(result.value);
  }

  path(): Promise<string> {
    return this.evaluate("location.pathname");
  }

  async waitForPath(wanted: string | RegExp): Promise<void> {
    const expected = typeof wanted === "string" ? wanted : expect.stringMatching(wanted);
    await expect.poll(() => this.path().catch(String), WAIT).toEqual(expected);
  }

  async waitForText(wanted: string | RegExp): Promise<void> {
    const text = () => this.evaluate("document.body.innerText").catch(String);
    await expect.poll(text, WAIT).toMatch(wanted);
  }

  async find(wanted: ElementQuery): Promise<Element> {
    let found: Element | undefined;
    await expect
      .poll(async () => {
        found = await this.#locate(wanted).catch(() => undefined);
        return found === undefined
          ? `nothing: ${JSON.stringify(wanted)} ${String(Reflect.get(wanted, "name"))}`
          : "found";
      }, WAIT)
      .toBe("found");
    if (found === undefined) throw new Error("unreachable: the poll ends with an element");
    return found;
  }

  async textOf(wanted: ElementQuery): Promise<string> {
    return this.#call("(element) => element.textContent", await this.find(wanted));
  }

  async click(wanted: ElementQuery): Promise<void> {
    const press = async () => this.#press(await this.find(wanted));
    await expect.poll(() => press().catch(lostElement), WAIT).toBeUndefined();
  }

  async #press(element: Element): Promise<void> {
    const origin = { type: "element", element };
    const actions = [
      { type: "pointerMove", x: 0, y: 0, origin },
      { type: "pointerDown", button: 0 },
      { type: "pointerUp", button: 0 },
    ];
    await this.#perform({ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions });
  }

  /** Types into a field in place of its value. */
  async fill(wanted: ElementQuery, text: string): Promise<void> {
    const element = await this.find(wanted);
    await this.#call("(element) => { element.focus(); element.select(); }", element);
    await this.type(text);
    expect(await this.#call("(element) => element.value", element)).toBe(text);
  }

  /** Types where the focus is; `\n` is the Enter key. */
  async type(text: string): Promise<void> {
    const actions = [...text].flatMap((letter) => {
      const value = letter === "\n" ? ENTER : letter;
      return [
        { type: "keyDown", value },
        { type: "keyUp", value },
      ];
    });
    await this.#perform({ type: "key", id: "keyboard", actions });
  }

  async #perform(source: object): Promise<void> {
    await this.#connection.send("input.performActions", { context: this.#context, actions: [source] });
  }

  async #locate(wanted: ElementQuery): Promise<Element | undefined> {
    for (const node of await this.#candidates(wanted)) {
      const element = { sharedId: String(node.sharedId) };
      const isNamed =
        !("name" in wanted && wanted.name instanceof RegExp) || wanted.name.test(await this.#call(NAME, element));
      if (isNamed && (await this.#call(IS_USABLE, element)) === true) return element;
    }
    return undefined;
  }

  async #candidates(wanted: ElementQuery): Promise<Json[]> {
    const locator =
      "css" in wanted
        ? { type: "css", value: wanted.css }
        : {
            type: "accessibility",
            value: { role: wanted.role, ...(typeof wanted.name === "string" ? { name: wanted.name } : {}) },
          };
    const params = { context: this.#context, locator };
    return (await this.#connection.send("browsingContext.locateNodes", params)).nodes;
  }

  async #call(functionDeclaration: string, element: Element): Promise<Json> {
    const { exceptionDetails, result } = await this.#connection.send("script.callFunction", {
      functionDeclaration,
      arguments: [element],
      target: { context: this.#context },
      awaitPromise: true,
    });
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
    return result.value;
  }
}
