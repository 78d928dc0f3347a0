import type { BrowserContext, Page, Request } from "playwright-core";

/** What a page must never do. `allow` is for refusals that a test provokes: the browser prints each as an error. */
export type Watch = { readonly problems: string[]; allow(pattern: RegExp): void; stop(): void };

/** Notes console errors, exceptions, breaches of the content security policy and requests to other origins. */
export function watch(context: BrowserContext, origin: string): Watch {
  const problems: string[] = [];
  const allowed: RegExp[] = [];
  const note = (text: string) => {
    if (!allowed.some((pattern) => pattern.test(text))) problems.push(text);
  };
  const onPage = (page: Page) => {
    page.on("pageerror", (error) => note(`exception: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error") note(`console: ${message.text()} ${message.location().url}`);
    });
  };
  const onRequest = (request: Request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !/^(?:data|blob|about):/.test(url)) note(`request outside the origin: ${url}`);
  };
  context.pages().forEach(onPage);
  context.on("page", onPage);
  context.on("request", onRequest);
  return {
    problems,
    allow: (pattern) => void allowed.push(pattern),
    stop() {
      context.off("page", onPage);
      context.off("request", onRequest);
    },
  };
}
