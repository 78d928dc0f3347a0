import { useSearchParam } from "../../url-state.ts";
import { type Sort, sortOf, sortText } from "./column.ts";

/** The order in the URL (`?sort=-created`), for `<Table {...useSortParam("-created")} />`. */
export function useSortParam(
  fallback: string,
  name = "sort",
): { readonly sort: Sort; readonly onSort: (sort: Sort) => void } {
  const [text, setText] = useSearchParam(name, fallback);
  return { sort: sortOf(text), onSort: (next) => setText(sortText(next)) };
}
