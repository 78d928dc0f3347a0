export type Toast = { readonly text: string; readonly tone: "good" | "bad" };

let waiting: readonly Toast[] = [];
let show: ((toast: Toast) => void) | undefined;

/** Shows a short notification. The text is rendered as plain text. */
export function toast(text: string, tone: Toast["tone"] = "good"): void {
  if (show === undefined) waiting = [...waiting, { text, tone }];
  else show({ text, tone });
}

/** Connects the list of notifications, which is loaded after the page; earlier ones are shown now. */
export function showToastsWith(list: (toast: Toast) => void): () => void {
  show = list;
  for (const one of waiting) list(one);
  waiting = [];
  return () => {
    show = undefined;
  };
}
