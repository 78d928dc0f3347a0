import "./guides.css";
import "./prose.css";
import type { SearchEntry } from "./search-options.ts";

/** The script of the guides: search, copy buttons, theme and the current section. The pages work without it. */

const RESULTS_MAX = 8;
const COPIED_MS = 1600;

type Search = (query: string) => SearchEntry[];
type SearchModule = { readonly loadSearch: (url: string) => Promise<Search> };

function startSearch(): void {
  const form = document.querySelector<HTMLFormElement>("form.search");
  const input = document.querySelector<HTMLInputElement>("#search");
  const panel = document.querySelector<HTMLElement>(".search-panel");
  const list = document.querySelector<HTMLElement>("#search-results");
  const status = document.querySelector<HTMLElement>("#search-status");
  if (form === null || input === null || panel === null || list === null || status === null) return;
  form.hidden = false;
  let loaded: Promise<Search> | undefined;
  let selected = 0;

  const load = () => {
    const { searchScript = "", searchIndex = "" } = document.body.dataset;
    loaded ??= import(/* @vite-ignore */ searchScript).then(({ loadSearch }: SearchModule) => loadSearch(searchIndex));
    loaded.catch(() => {
      loaded = undefined;
      status.textContent = "Search is not available. Reload the page.";
      panel.hidden = false;
    });
    return loaded;
  };
  const options = () => [...list.querySelectorAll<HTMLAnchorElement>('[role="option"]')];
  const select = (index: number) => {
    const all = options();
    selected = all.length === 0 ? 0 : (index + all.length) % all.length;
    for (const [at, option] of all.entries()) option.setAttribute("aria-selected", String(at === selected));
    if (all.length === 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `result-${selected}`);
    all[selected]?.scrollIntoView({ block: "nearest" });
  };
  const close = () => {
    panel.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const update = async () => {
    const query = input.value.trim();
    if (query === "") return close();
    const search = await load();
    if (query !== input.value.trim()) return;
    const found = search(query).slice(0, RESULTS_MAX);
    list.replaceChildren(...found.map(resultLink));
    panel.hidden = false;
    input.setAttribute("aria-expanded", "true");
    status.textContent = found.length === 0 ? `No results for “${query}”.` : "";
    select(0);
  };

  input.addEventListener("focus", () => void load().catch(() => undefined), { once: true });
  input.addEventListener("input", () => void update().catch(() => undefined));
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      select(selected + step);
    } else if (event.key === "Escape") {
      close();
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    options()[selected]?.click();
  });
  form.addEventListener("focusout", (event) => {
    if (!(event.relatedTarget instanceof Node) || !form.contains(event.relatedTarget)) close();
  });
  // A press on a result must not move the focus and close the list before the click.
  list.addEventListener("pointerdown", (event) => event.preventDefault());
  list.addEventListener("click", close);
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select") !== null;
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}

function resultLink({ page, anchor, title, heading, excerpt }: SearchEntry, index: number): HTMLAnchorElement {
  const link = document.createElement("a");
  link.id = `result-${index}`;
  link.setAttribute("role", "option");
  link.href = `/docs/guides/${page}${anchor === "" ? "" : `#${anchor}`}`;
  link.tabIndex = -1;
  link.append(element("strong", heading === "" ? title : heading));
  if (heading !== "") link.append(element("em", title));
  link.append(element("span", excerpt));
  return link;
}

function element(name: string, text: string): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function startCopyButtons(): void {
  // The clipboard API requires HTTPS or localhost.
  if (navigator.clipboard === undefined) return;
  for (const button of document.querySelectorAll<HTMLButtonElement>("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const code = button.parentElement?.querySelector("code")?.textContent ?? "";
      navigator.clipboard.writeText(code.trimEnd()).then(
        () => showFor(button, "Copied"),
        () => showFor(button, "Copy failed"),
      );
    });
  }
}

function showFor(button: HTMLButtonElement, label: string): void {
  button.textContent = label;
  setTimeout(() => {
    button.textContent = "Copy";
  }, COPIED_MS);
}

const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const THEME_NAMES: Readonly<Record<Theme, string>> = { system: "System", light: "Light", dark: "Dark" };

function startThemeButton(): void {
  const button = document.querySelector<HTMLButtonElement>("button.theme");
  if (button === null) return;
  const current = () => THEMES.find((theme) => theme === document.documentElement.dataset["theme"]) ?? "system";
  const show = () => {
    button.textContent = THEME_NAMES[current()];
    button.setAttribute("aria-label", `Theme: ${THEME_NAMES[current()]}`);
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    applyTheme(THEMES[(THEMES.indexOf(current()) + 1) % THEMES.length] ?? "system");
    show();
  });
  show();
}

/** The portal reads the same stored choice. */
function applyTheme(theme: Theme): void {
  if (theme === "system") {
    delete document.documentElement.dataset["theme"];
    localStorage.removeItem("theme");
  } else {
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem("theme", theme);
  }
}

/** Marks the section in view in the table of contents. */
function startSectionTracking(): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>(".side-contents a")];
  const headings = links.flatMap((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))) ?? []);
  if (headings.length === 0) return;
  const mark = () => {
    const passed = headings.filter((heading) => heading.getBoundingClientRect().top < 140).length;
    const current = Math.max(0, passed - 1);
    for (const [at, link] of links.entries()) {
      if (at === current) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    }
  };
  document.addEventListener("scroll", () => requestAnimationFrame(mark), { passive: true });
  mark();
}

/** Wide screens show the list of guides in a separate column, with the current guide in view. */
function startSidebar(): void {
  if (!matchMedia("(min-width: 60rem)").matches) return;
  document.querySelector(".sidebar-menu")?.setAttribute("open", "");
  const sidebar = document.querySelector(".sidebar");
  const current = sidebar?.querySelector<HTMLElement>('[aria-current="page"]');
  if (sidebar && current) sidebar.scrollTop = current.offsetTop - sidebar.clientHeight / 2;
}

startSearch();
startCopyButtons();
startThemeButton();
startSectionTracking();
startSidebar();
