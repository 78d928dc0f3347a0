import type { Page } from "playwright-core";

/**
 * Takes rows of tables and entries of lists that equal others (in elements, classes, roles, states, and those of everything
 * around them) out of the document, and returns the hashes of all. An empty part of the same height stands in for each run
 * of them, and a table keeps its width. The first of a table or list stays, and so do two equal ones, so that neighbours
 * are checked too, and what has the focus or a popup. What a closed `details` hides is taken out as well.
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
  const undo = [];
  const restore = () => {
    for (const one of undo.splice(0).reverse()) one();
  };
  window.showsParts = restore;
  // The portal may change a list meanwhile; it must find its parts.
  const guard = (parent) => {
    for (const name of ["appendChild", "insertBefore", "removeChild"]) {
      if (Object.hasOwn(parent, name)) continue;
      parent[name] = (...args) => {
        restore();
        return Node.prototype[name].apply(parent, args);
      };
      undo.push(() => delete parent[name]);
    }
  };
  for (const part of document.querySelectorAll("details:not([open]) > :not(summary)")) {
    const mark = document.createComment("");
    part.replaceWith(mark);
    undo.push(() => mark.replaceWith(part));
    guard(mark.parentElement);
  }
  const counts = new Map();
  const runs = [];
  for (const part of document.querySelectorAll("tbody > tr, nav li:not(li li), main li:not(li li), main details:not([open])")) {
    if (part.querySelector(":focus, :hover, [aria-expanded=true]") !== null || part.matches(":focus, :hover")) continue;
    const text = part.outerHTML.replace(values, " $1").replace(/>[^<]*[^<\\s][^<]*</g, ">x<");
    const own = hash(surroundings(part.parentElement) + text);
    const count = (counts.get(own) ?? 0) + 1;
    counts.set(own, count);
    if (part.previousElementSibling === null || part.previousElementSibling.matches("[aria-hidden=true]")) continue;
    if (!known.has(own) && count <= 2) continue;
    // The portal measures the rows of a long list while they are in the document.
    if (part.matches("[aria-rowindex]")) {
      part.style.visibility = "hidden";
      undo.push(() => part.style.removeProperty("visibility"));
      continue;
    }
    const box = part.getBoundingClientRect();
    const run = runs.at(-1);
    const isNext = run !== undefined && run.parts.at(-1) === part.previousElementSibling;
    if (isNext && run.left === box.left && run.bottom <= box.top + 1) {
      run.parts.push(part);
      run.bottom = box.bottom;
    } else if (!isNext) runs.push({ parts: [part], left: box.left, top: box.top, bottom: box.bottom, width: box.width });
  }
  const tables = new Set(runs.map(({ parts: [part] }) => part.closest("table")));
  tables.delete(null);
  for (const [table, width] of [...tables].map((table) => [table, table.offsetWidth])) {
    const before = table.style.minWidth;
    table.style.minWidth = width + "px";
    undo.push(() => {
      table.style.minWidth = before;
    });
  }
  for (const { parts, top, bottom, width } of runs) {
    const [first] = parts;
    const parent = first.parentElement;
    const place = document.createElement(first.localName === "details" ? "div" : first.localName);
    place.setAttribute("aria-hidden", "true");
    place.style.cssText = "display: " + getComputedStyle(first).display + "; height: " + (bottom - top) + "px; visibility: hidden";
    if (first.localName === "tr") place.append(document.createElement("td"));
    else place.style.width = width + "px";
    first.before(place);
    for (const part of parts) part.remove();
    undo.push(() => place.replaceWith(...parts));
    guard(parent);
  }
  return [...counts.keys()];
}`;
const SHOW = "window.showsParts?.()";

/** Rows are most of a page's elements, and axe's time grows with those. */
export class RepeatedParts {
  readonly #passed = new Map<string, Set<string>>();

  /** Runs a check while the repeated parts of the page are out of the document; a check by that name has seen them before. */
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
