/** One option of a picker. Screens add more fields and show them with `renderOption`. */
export type ComboboxOption = {
  readonly value: string;
  readonly label: string;
  /** Secondary text below the label; it is searched as well. */
  readonly description?: string | undefined;
  /** Options of a group must be adjacent. */
  readonly group?: string | undefined;
  /** Additional search terms that are not shown. */
  readonly searchTerms?: string | undefined;
  readonly disabled?: boolean | undefined;
};

/** Every word must occur in the option; options whose label starts with the query come first. */
export function matchOptions<O extends ComboboxOption>(options: readonly O[], query: string): readonly O[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const [first] = words;
  if (first === undefined) return options;
  const startsWithQuery = ({ label }: O) => Number(label.toLowerCase().startsWith(first));
  return options
    .filter((option) => words.every((word) => searchedText(option).includes(word)))
    .toSorted((a, b) => startsWithQuery(b) - startsWithQuery(a));
}

function searchedText({ value, label, description = "", group = "", searchTerms = "" }: ComboboxOption): string {
  return `${label} ${value} ${description} ${group} ${searchTerms}`.toLowerCase();
}

export type OptionGroup<O> = { readonly value: string; readonly items: readonly O[] };

/** Groups in the order of their first option; options without a group are in the group "". */
export function groupOptions<O extends ComboboxOption>(options: readonly O[]): readonly OptionGroup<O>[] {
  const groups = Map.groupBy(options, ({ group = "" }) => group);
  return [...groups].map(([value, items]) => ({ value, items }));
}

/** The options of these values; a value without an option keeps its own name as the label. */
export function optionsOf(options: readonly ComboboxOption[], values: readonly string[]): readonly ComboboxOption[] {
  const byValue = new Map(options.map((option) => [option.value, option]));
  return values.map((value) => byValue.get(value) ?? { value, label: value });
}

/** The option of a single value; "" is no selection, unless it is offered as an option. */
export function selectedOption(options: readonly ComboboxOption[], value: string): ComboboxOption | undefined {
  const isNothing = value === "" && !options.some((option) => option.value === "");
  return isNothing ? undefined : optionsOf(options, [value])[0];
}
