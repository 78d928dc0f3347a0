import { always, type Scheme } from "../scheme.ts";

/** Licence plates have as many forms as words do: they are found beside a word such as "Kennzeichen" alone. */
export const PLATES: Scheme = {
  id: "x.plate",
  label: "LICENCE_PLATE",
  class: "personal",
  inCapitals: true,
  free: [],
  bound: [
    ...["a", "aa", "aaa"].flatMap((district) =>
      ["a", "aa"].flatMap((letters) =>
        ["9", "99", "999", "9999"].flatMap((digits) => [
          `${district}-${letters} ${digits}`,
          `${district}-${letters}-${digits}`,
        ]),
      ),
    ),
    ...["aa-999-aa", "aa 999 aa", "aa999aa", "9999 aaa", "9999-aaa", "9999aaa", "9-aaa-999", "99-aaa-9", "9-aaa-99"],
    ...[
      "aa-99-99",
      "99-99-aa",
      "99-aa-99",
      "aa-999-a",
      "a-999-aa",
      "aaa 999",
      "aaa999",
      "aaa-999",
      "aaa 99a",
      "aaa99a",
    ],
    ...[
      "aa 99999",
      "aa 9999a",
      "aaa 99999",
      "aa 99 999",
      "aa99999",
      "9aa 9999",
      "9a9 9999",
      "99-a-9999",
      "999-a-9999",
      "a-9999aa",
    ],
    ...["aa-9999-aa", "aa-999-999", "a 99 aaa", "a-999 aaa", "aa 9999 aa"],
  ],
  check: always,
};
