import type { Page } from "playwright-core";
import type { Portal } from "./portal.ts";

/** A page of the operator's, by its path below /app/operator. */
export async function openOperator(
  portal: Portal,
  screen: string,
  who: "operator" | "member" = "operator",
): Promise<Page> {
  const page = await portal.page(who);
  await page.goto(`${portal.origin}/app/operator${screen}`);
  return page;
}

export const rowOf = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name });

export const HELLO = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello." }] };
