import type { Page } from "playwright-core";

/**
 * Hides rows of tables and entries of the navigation that equal others (in elements, classes, roles, states, and those of
 * everything around them), and returns the hashes of all. Two equal ones stay visible, so that neighbours are checked too,
 * and so does what has the focus or a popup.
 */
const HIDE = `(check, passed) => {
  const known = new Set(passed);
  const isKept = " (?!(?:class|role|type|style|tabindex|disabled|aria-(?:busy|checked|current|disabled|expanded|haspopup|hidden|pressed|selected|sort))=)";
  const values = new RegExp(isKept + '([\\\\w-]+)="[^"]+"', "g");
  const hash = (text) => {
    let [a, b] = [0x811c9dc5, 0x1b873593];
    for (let at = 0; at < text.length; at += 1) {
      a = Math.imul(a ^ text.charCodeAt(at), 0x01000193);
      b = Math.imul(b ^ text.charCodeAt(at), 0x85ebca6b) + at;
    }
    return (a >>> 0).toString(36) + (b >>> 0).toString(36);
  };
  const around = new Map();
  const surroundings = (element) => {
    if (element === null) return check + innerWidth;
    const there = around.get(element);
    if (there !== undefined) return there;
    const opening = element.cloneNode(false).outerHTML.replace(values, " $1");
    const all = hash(surroundings(element.parentElement) + opening);
    around.set(element, all);
    return all;
  };
  const counts = new Map();
  for (const part of document.querySelectorAll("tbody > tr, nav li:not(li li)")) {
    if (part.querySelector(":focus, :hover, [aria-expanded=true]") !== null || part.matches(":focus, :hover")) continue;
    const text = part.outerHTML.replace(values, " $1").replace(/>[^<]*[^<\\s][^<]*</g, ">x<");
    const own = hash(surroundings(part.parentElement) + text);
    const count = (counts.get(own) ?? 0) + 1;
    counts.set(own, count);
    if (known.has(own) || count > 2) part.toggleAttribute("data-passed", true);
  }
  if (window.hidesPassed === undefined) {
    window.hidesPassed = new CSSStyleSheet();
    window.hidesPassed.replaceSync("[data-passed], [data-passed] * { visibility: hidden !important; transition: none !important }");
    document.adoptedStyleSheets.push(window.hidesPassed);
  }
  return [...counts.keys()];
}`;
const SHOW = `document.querySelectorAll("[data-passed]").forEach((part) => part.removeAttribute("data-passed"))`;

/** Rows are most of a page's elements, and axe's time grows with those: with 48 of 50 rows invisible it takes a sixth. */
export class RepeatedParts {
  readonly #passed = new Map<string, Set<string>>();

  /** Runs a check while the repeated parts of the page are invisible; a check by that name has seen them before. */
  async without<Result>(page: Page, check: string, run: () => Promise<Result>): Promise<Result> {
    const passed = this.#passed.get(check) ?? new Set();
    this.#passed.set(check, passed);
    const parts: string[] = JSON.parse(
      String(
        await page.evaluate(`JSON.stringify((${HIDE})(${JSON.stringify(check)}, ${JSON.stringify([...passed])}))`),
      ),
    );
    const result = await run();
    await page.evaluate(SHOW);
    for (const part of parts) passed.add(part);
    return result;
  }
}
