import { CodeBlock } from "../../ui/code-block.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Drawer } from "../../ui/dialog.tsx";
import { KeyValue } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Time, Unknown } from "../../ui/values.tsx";
import { type Entry, screenPathOf, valueText } from "./entry.ts";

type Props = {
  readonly entry: Entry;
  readonly at: (path?: string) => string;
  readonly onClose: () => void;
};

export function EntryDetail({ entry, at, onClose }: Props) {
  const path = screenPathOf(entry);
  const { before, after, ...rest } = entry.detail;
  const hasBoth = before !== undefined && after !== undefined;
  return (
    <Drawer open onClose={onClose} title={entry.action} size="normal">
      <KeyValue
        rows={[
          { name: "Time", value: <Time at={entry.at} as="exact" /> },
          { name: "Actor", value: <span className="break-all">{entry.actor}</span> },
          {
            name: "Target",
            value:
              entry.target === null ? (
                <Unknown />
              ) : (
                <span className="inline-flex items-center gap-1">
                  <code className="font-mono text-xs break-all">{entry.target}</code>
                  <CopyButton text={entry.target} label="Copy target" />
                </span>
              ),
          },
          ...Object.entries(rest).map(([name, value]) => ({
            name: name.replaceAll("_", " "),
            value: <span className="break-words">{valueText(value)}</span>,
          })),
        ]}
      />
      {hasBoth && <Changes before={before} after={after} />}
      {path !== undefined && (
        <div>
          <LinkButton to={at(path)} size="small" icon="arrow">
            View current state
          </LinkButton>
        </div>
      )}
      <details>
        <summary className="text-soft">Raw entry</summary>
        <div className="mt-2 min-w-0">
          <CodeBlock code={JSON.stringify(entry, null, 2)} label="Raw entry" />
        </div>
      </details>
    </Drawer>
  );
}

/** Compares field by field; a value that is not an object counts as one field. */
function Changes({ before, after }: { readonly before: unknown; readonly after: unknown }) {
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  const changed = names.filter((name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]));
  return (
    <table className="w-full text-left">
      <caption className="mb-1 text-left font-medium">Changes</caption>
      <thead>
        <tr className="border-b text-xs text-soft">
          <th scope="col" className="py-1 pr-3">
            Field
          </th>
          <th scope="col" className="py-1 pr-3">
            Before
          </th>
          <th scope="col" className="py-1">
            After
          </th>
        </tr>
      </thead>
      <tbody>
        {changed.map((name) => (
          <tr key={name} className="border-b align-top last:border-0">
            <th scope="row" className="py-1.5 pr-3 font-normal text-soft">
              {name.replaceAll("_", " ")}
            </th>
            <td className="py-1.5 pr-3 break-words">{valueText(was[name])}</td>
            <td className="py-1.5 font-medium break-words">{valueText(is[name])}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function fieldsOf(value: unknown): Record<string, unknown> {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? Object.fromEntries(Object.entries(value)) : { value };
}
